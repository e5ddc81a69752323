// Removes what has done its work, portion by portion: objects first, then the rows that name them.
import { heartbeat } from '@temporalio/activity'
import type { Compute } from '../src/compute/compute.ts'
import { retention } from '../src/domain/retention.ts'
import type { Database } from '../src/repositories/database.ts'
import type { WorkflowRuns } from '../src/services/workflow-runs.ts'
import type { Storage } from '../src/storage/storage.ts'
import { withHeartbeat } from './heartbeat.ts'

export type HousekeepingDependencies = {
  database: Pick<Database, 'housekeeping'>
  storage: Pick<Storage, 'remove'>
  compute: Pick<Compute, 'removeEndedRuns'>
  runs: Pick<WorkflowRuns, 'deleteScheduled'>
}

export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>

const rowsPerPortion = 1000
const jobsPerPortion = 100
const batchesPerPortion = 100
const historiesPerPortion = 500

const ago = (ms: number) => new Date(Date.now() - ms)

export function createHousekeepingActivities({ database, storage, compute, runs }: HousekeepingDependencies) {
  const { housekeeping } = database
  return {
    /** Those to Temporal and those to webhooks. @returns how many rows */
    async removeOldMessages(): Promise<number> {
      const toTemporal = await portions(rowsPerPortion, () =>
        housekeeping.deleteDeliveredMessages(ago(retention.deliveredMessagesMs), rowsPerPortion),
      )
      const toWebhooks = await portions(rowsPerPortion, () =>
        housekeeping.deleteWebhookDeliveries(ago(retention.webhookDeliveriesMs), rowsPerPortion),
      )
      return toTemporal + toWebhooks
    },

    removeOldIdempotencyKeys: (): Promise<number> =>
      portions(rowsPerPortion, () =>
        housekeeping.deleteIdempotencyKeys(ago(retention.idempotencyKeysMs), rowsPerPortion),
      ),

    removeOldCheckpoints: (): Promise<number> =>
      withHeartbeat(async () => {
        let [count, last] = [0, 0]
        for (;;) {
          const jobs = await housekeeping.jobsWithOldCheckpoints(last, retention.checkpointsPerJob, jobsPerPortion)
          for (const jobId of jobs) count += await removeCheckpointsOf(jobId)
          if (jobs.length < jobsPerPortion) return count
          last = jobs.at(-1) ?? last
        }
      }),

    removeOldBatches: (): Promise<number> =>
      portions(batchesPerPortion, async () => {
        const batches = await housekeeping.oldBatches(ago(retention.batchesMs), batchesPerPortion)
        await storage.remove(batches.flatMap(({ keys }) => keys))
        await housekeeping.deleteBatches(batches.map(({ id }) => id))
        return batches.length
      }),

    removeEndedRuns: async (): Promise<number> =>
      withHeartbeat(async () => (await compute.removeEndedRuns({ endedForMs: retention.endedRunsMs })).length),

    removeOldHistories: ({ scheduleId }: { scheduleId: string }): Promise<number> =>
      portions(historiesPerPortion, () =>
        runs.deleteScheduled(scheduleId, ago(retention.upkeepHistoriesMs), historiesPerPortion),
      ),
  }

  async function removeCheckpointsOf(jobId: number): Promise<number> {
    const { checkpointsPerJob, brokenArtifactsMs } = retention
    const old = await housekeeping.oldCheckpoints(jobId, checkpointsPerJob, ago(brokenArtifactsMs))
    const ids = old.map(({ id }) => id)
    // Hidden first: dying in between leaves no checkpoint without its bytes to start from.
    await housekeeping.hideArtifacts(ids)
    await storage.remove(old.flatMap(({ files }) => files.map(({ key }) => key)))
    await housekeeping.deleteArtifacts(ids)
    return ids.length
  }
}

/** Until a portion is not full. @returns the sum */
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
