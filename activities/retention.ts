// Removes old rows and objects in portions: objects first, then the rows that name them.
import { ApplicationFailure, cancellationSignal, heartbeat } from '@temporalio/activity'
import type { ModelServerCompute } from '../src/compute/model-servers.ts'
import type { TrainerCompute } from '../src/compute/trainers.ts'
import type { Retention } from '../src/domain/retention.ts'
import type { Log } from '../src/log.ts'
import type { Database } from '../src/repositories/database.ts'
import type { WorkflowExecutions } from '../src/temporal/workflow-executions.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Storage } from '../src/storage/storage.ts'
import {
  measureUploads,
  removeAbandonedUploads,
  removeEndedParts,
  removeExpiredFiles,
  type RemoveParts,
} from './abandoned-uploads.ts'
import { withHeartbeat } from './heartbeat.ts'
import { removeOrphanedObjects } from './orphaned-objects.ts'
import { SweepRefused, type RefusalReason } from './sweep-guard.ts'

export type RetentionDependencies = {
  database: Database
  storage: Storage
  trainers: Pick<TrainerCompute, 'removeEndedRuns'>
  modelServers: Pick<ModelServerCompute, 'removeEndedRuns'>
  executions: Pick<WorkflowExecutions, 'deleteClosedRuns'>
  removeParts: RemoveParts
  log: Pick<Log, 'error'>
  /** Raises the alert AnnealSweepRefused. */
  countRefusedSweep: (reason: RefusalReason) => void
  settings: {
    retention: Retention
    /** Settings of the sweep of objects that no row names. */
    sweep: { olderThanMs: number; maxShare: number }
  }
}

export type RetentionActivities = ReturnType<typeof createRetentionActivities>

const rowsPerPortion = 1000
const jobsPerPortion = 100
const batchesPerPortion = 100
const exportsPerPortion = 20
const historiesPerPortion = 500

export function createRetentionActivities({
  database,
  storage,
  trainers,
  modelServers,
  executions,
  removeParts,
  log,
  countRefusedSweep,
  settings: { retention, sweep },
}: RetentionDependencies) {
  const rows = database.retention
  const ago = async (ms: number) => new Date((await database.now()).getTime() - ms)
  return {
    /** Outbox messages, webhook deliveries, trackers of ended jobs, and audit events. @returns the number of rows */
    async removeOldMessages(): Promise<number> {
      const messages = await removeRows(retention.deliveredMessagesMs, rows.deleteDeliveredMessages)
      const deliveries = await removeRows(retention.webhookDeliveriesMs, rows.deleteWebhookDeliveries)
      const trackers = await removeRows(retention.trackersMs, rows.deleteTrackers)
      return messages + deliveries + trackers + (await removeRows(retention.auditEventsMs, rows.deleteAuditEvents))
    },

    /** Keys of requests and of usage batches, stored responses, and keys and sessions that have ended. @returns the number of rows */
    async removeOldIdempotencyKeys(): Promise<number> {
      const keys = await removeRows(retention.endedKeysMs, rows.deleteEndedKeys)
      const requests = await removeRows(retention.idempotencyKeysMs, rows.deleteIdempotencyKeys)
      const sessions = await removeRows(0, rows.deleteConsoleSessions)
      const responses = await removeRows(retention.responsesMs, database.storedResponses.removeOld)
      return (
        keys + requests + responses + sessions + (await removeRows(retention.usageWritersMs, rows.deleteUsageWriters))
      )
    },

    /** Old checkpoints, broken artifacts of either kind, and prepared rows of ended jobs. @returns the number of artifacts and jobs */
    removeOldCheckpoints: (): Promise<number> =>
      withHeartbeat(async () => {
        const jobsWithData = await removePreparedData()
        const needed = {
          keptCheckpoints: retention.checkpointsPerJob,
          brokenBefore: await ago(retention.brokenArtifactsMs),
        }
        let [count, last] = [jobsWithData, 0]
        for (;;) {
          const jobs = await rows.jobsWithOldArtifacts(last, needed, jobsPerPortion)
          for (const jobId of jobs) count += await removeArtifacts(await rows.oldArtifacts(jobId, needed))
          if (jobs.length < jobsPerPortion) return count
          last = jobs.at(-1) ?? last
        }
      }),

    /** Batches, evaluations and merged exports. @returns their number */
    async removeOldBatches(): Promise<number> {
      const batches = await removeBatches()
      return batches + (await removeEvaluations()) + (await removeExports())
    },

    removeAbandonedUploads: (): Promise<number> =>
      withHeartbeat(async () => {
        const signal = cancellationSignal()
        await measureUploads({ database, storage }, signal)
        const expired = await removeExpiredFiles({ database, storage }, signal)
        const parts = await removeEndedParts({ database, removeParts }, signal)
        return expired + parts + (await removeAbandonedUploads({ database, storage }, { signal }))
      }),

    /** @throws ApplicationFailure SweepRefused when this may not be the bucket's database; nothing is removed then */
    removeOrphanedObjects: (): Promise<number> =>
      withHeartbeat(async () => {
        try {
          return await removeOrphanedObjects({ database, storage }, { ...sweep, signal: cancellationSignal() })
        } catch (error) {
          if (!(error instanceof SweepRefused)) throw error
          log.error({ reason: error.reason, detail: error.message }, 'refused to sweep the object store')
          countRefusedSweep(error.reason)
          throw ApplicationFailure.nonRetryable(error.message, 'SweepRefused')
        }
      }),

    removeEndedRuns: async (): Promise<number> =>
      withHeartbeat(async () => {
        const options = { endedForMs: retention.endedRunsMs }
        const removed = [await trainers.removeEndedRuns(options), await modelServers.removeEndedRuns(options)]
        return removed.flat().length
      }),

    removeClosedRuns: ({ workflowId }: { workflowId: string }): Promise<number> =>
      portions(historiesPerPortion, async () =>
        executions.deleteClosedRuns(workflowId, await ago(retention.housekeepingRunsMs), historiesPerPortion),
      ),
  }

  function removeRows(keptMs: number, remove: (before: Date, limit: number) => Promise<number>): Promise<number> {
    return portions(rowsPerPortion, async () => remove(await ago(keptMs), rowsPerPortion))
  }

  function removeBatches(): Promise<number> {
    return portions(batchesPerPortion, async () => {
      const batches = await rows.oldBatches(await ago(retention.batchesMs), batchesPerPortion)
      await storage.remove(batches.flatMap(({ keys }) => keys))
      await rows.deleteBatches(batches.map(({ id }) => id))
      return batches.length
    })
  }

  function removeEvaluations(): Promise<number> {
    return portions(batchesPerPortion, async () => {
      const { modelEvaluations } = database
      const evaluations = await modelEvaluations.listOld(await ago(retention.evaluationsMs), batchesPerPortion)
      await storage.remove(evaluations.flatMap(({ keys }) => keys))
      await modelEvaluations.remove(evaluations.map(({ id }) => id))
      return evaluations.length
    })
  }

  function removeExports(): Promise<number> {
    return portions(exportsPerPortion, async () => {
      const { modelExports } = database
      const old = await modelExports.listOld(await ago(retention.exportsMs), exportsPerPortion)
      for (const { accountId, id } of old) await storage.removeFolder(storageKeys.exportFolder(accountId, id))
      await modelExports.remove(old.map(({ id }) => id))
      return old.length
    })
  }

  /** Removes objects under the lock: a job that is resumed meanwhile waits, and then prepares its rows again. */
  async function removePreparedData(): Promise<number> {
    const before = await ago(retention.preparedDataMs)
    for (let count = 0; ;) {
      const jobs = await database.transaction(async (tx) => {
        const held = await tx.retention.holdUnneededData(before, jobsPerPortion)
        await storage.remove([...new Set(held.flatMap(({ keys }) => keys))])
        await tx.retention.markDataRemoved(held.map(({ id }) => id))
        return held.length
      })
      count += jobs
      if (jobs < jobsPerPortion) return count
    }
  }

  async function removeArtifacts(old: Awaited<ReturnType<typeof rows.oldArtifacts>>): Promise<number> {
    const ids = old.map(({ id }) => id)
    // Artifacts are hidden first: a crash in between leaves no visible checkpoint without its bytes.
    await rows.hideArtifacts(ids)
    await storage.remove(old.flatMap(({ files }) => files.map(({ key }) => key)))
    await rows.deleteArtifacts(ids)
    return ids.length
  }
}

/** Repeats until a portion is not full. @returns the sum */
const portions = (full: number, next: () => Promise<number>): Promise<number> =>
  withHeartbeat(async () => {
    let sum = 0
    for (;;) {
      const count = await next()
      sum += count
      heartbeat(sum)
      if (count < full) return sum
    }
  })
