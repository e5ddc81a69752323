// Removes old rows and objects, kind by kind and in portions: objects first, then the rows that name them.
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import type { ModelServerCompute } from '../src/compute/model-servers.ts'
import type { TrainerCompute } from '../src/compute/trainers.ts'
import { folderOf, workKinds, type WorkKind } from '../src/domain/durable-work.ts'
import type { Retention } from '../src/domain/retention.ts'
import type { Log } from '../src/log.ts'
import type { Database } from '../src/repositories/database.ts'
import type { WorkflowExecutions } from '../src/temporal/workflow-executions.ts'
import { dailyRetentionWorkflowId, reaperWorkflowId, retentionWorkflowId } from '../workflows/contract.ts'
import type { Storage } from '../src/storage/storage.ts'
import {
  measureUploads,
  removeAbandonedUploads,
  removeEndedParts,
  removeExpiredFiles,
  type RemoveParts,
} from './abandoned-uploads.ts'
import { withHeartbeat } from './heartbeat.ts'
import { removeOldArtifacts, removeOldRollouts, removePreparedRows } from './old-artifacts.ts'
import { removeOrphanedObjects } from './orphaned-objects.ts'
import { SweepRefused, type RefusalReason } from './sweep-guard.ts'

export type RetentionDependencies = {
  database: Database
  storage: Storage
  trainers: Pick<TrainerCompute, 'removeEndedRuns'>
  modelServers: Pick<ModelServerCompute, 'removeEndedRuns'>
  executions: Pick<WorkflowExecutions, 'deleteClosedRuns'>
  removeParts: RemoveParts
  /** Those from which no model server samples any more. */
  removePolicies: Removal
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
const workPerPortion = 100
const historiesPerPortion = 500

export function createRetentionActivities(deps: RetentionDependencies) {
  const { database, storage, log, countRefusedSweep } = deps
  const removals = removalsOf(deps)
  return {
    /** The kinds that a round removes, in this order. */
    listOldKinds: (): Promise<string[]> => Promise.resolve(Object.keys(removals)),

    /** @returns the number of rows, objects or runs. @throws ApplicationFailure for a kind that this release does not know */
    removeOld: ({ kind }: { kind: string }): Promise<number> =>
      withHeartbeat(async () => {
        const remove = removals[kind]
        if (!remove) throw ApplicationFailure.nonRetryable(`There is no kind "${kind}" to remove.`)
        return remove()
      }),

    /** @throws ApplicationFailure SweepRefused when this may not be the bucket's database; nothing is removed then */
    removeOrphanedObjects: (): Promise<number> =>
      withHeartbeat(async () => {
        const { sweep } = deps.settings
        try {
          return await removeOrphanedObjects({ database, storage }, { ...sweep, signal: cancellationSignal() })
        } catch (error) {
          if (!(error instanceof SweepRefused)) throw error
          log.error({ reason: error.reason, detail: error.message }, 'refused to sweep the object store')
          countRefusedSweep(error.reason)
          throw ApplicationFailure.nonRetryable(error.message, 'SweepRefused')
        }
      }),

    // A round of v0.1.0 that is open during the update calls these. The next round removes what it leaves.
    removeOldMessages: nothing,
    removeOldIdempotencyKeys: nothing,
    removeOldCheckpoints: nothing,
    removeOldBatches: nothing,
    removeAbandonedUploads: nothing,
    removeEndedRuns: nothing,
    removeClosedRuns: nothing,
  }
}

const nothing = (): Promise<number> => Promise.resolve(0)

type Removal = () => Promise<number>

function removalsOf(deps: RetentionDependencies): Record<string, Removal> {
  const { database, storage, trainers, modelServers, executions, removeParts } = deps
  const { retention } = deps.settings
  const rows = database.retention
  const ago = async (ms: number) => new Date((await database.now()).getTime() - ms)
  const rowsAfter = (keptMs: number, remove: (before: Date, limit: number) => Promise<number>) => () =>
    portions(rowsPerPortion, async () => remove(await ago(keptMs), rowsPerPortion))
  const oldRows = (table: Parameters<typeof rows.deleteOld>[0], keptMs: number) =>
    rowsAfter(keptMs, (before, limit) => rows.deleteOld(table, before, limit))
  const closedRunsOf = (workflowId: string) => () =>
    portions(historiesPerPortion, async () =>
      executions.deleteClosedRuns(workflowId, await ago(retention.housekeepingRunsMs), historiesPerPortion),
    )
  const endedRuns = { endedForMs: retention.endedRunsMs }
  return {
    messages: oldRows('outbox_messages', retention.deliveredMessagesMs),
    webhookDeliveries: oldRows('webhook_deliveries', retention.webhookDeliveriesMs),
    trackers: rowsAfter(retention.trackersMs, rows.deleteTrackers),
    auditEvents: oldRows('audit_events', retention.auditEventsMs),
    keys: rowsAfter(retention.endedKeysMs, rows.deleteEndedKeys),
    idempotencyKeys: oldRows('idempotency_keys', retention.idempotencyKeysMs),
    consoleSessions: oldRows('console_sessions', 0),
    responses: oldRows('stored_responses', retention.responsesMs),
    usageWriters: oldRows('usage_writers', retention.usageWritersMs),
    preparedRows: async () => removePreparedRows({ database, storage }, await ago(retention.preparedDataMs)),
    artifacts: async () =>
      removeOldArtifacts(
        { database, storage },
        { keptCheckpoints: retention.checkpointsPerJob, brokenBefore: await ago(retention.brokenArtifactsMs) },
      ),
    rollouts: () => removeOldRollouts({ database, storage }, retention.rolloutDayMs),
    policies: deps.removePolicies,
    ...Object.fromEntries(
      workKinds.map((kind) => [kind, async () => removeWork(deps, kind, await ago(retention.workMs(kind)))]),
    ),
    unmeasuredUploads: () => measureUploads({ database, storage }, cancellationSignal()),
    expiredFiles: () => removeExpiredFiles({ database, storage }, cancellationSignal()),
    uploadParts: () => removeEndedParts({ database, removeParts }, cancellationSignal()),
    abandonedUploads: () => removeAbandonedUploads({ database, storage }, { signal: cancellationSignal() }),
    trainerRuns: async () => (await trainers.removeEndedRuns(endedRuns)).length,
    modelServerRuns: async () => (await modelServers.removeEndedRuns(endedRuns)).length,
    reaperHistories: closedRunsOf(reaperWorkflowId),
    retentionHistories: closedRunsOf(retentionWorkflowId),
    dailyRetentionHistories: closedRunsOf(dailyRetentionWorkflowId),
  }
}

const removeWork = ({ database, storage }: RetentionDependencies, kind: WorkKind, before: Date): Promise<number> =>
  portions(workPerPortion, async () => {
    const old = await database.durableWork.listOld(kind, before, workPerPortion)
    for (const { id, accountId } of old) await storage.removeFolder(folderOf({ kind, id }, accountId))
    await database.durableWork.remove(
      kind,
      old.map(({ id }) => id),
    )
    return old.length
  })

/** Repeats until a portion is not full. @returns the sum */
async function portions(size: number, remove: () => Promise<number>): Promise<number> {
  for (let sum = 0; ;) {
    const count = await remove()
    sum += count
    if (count < size) return sum
  }
}
