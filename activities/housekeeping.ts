// Removes what has done its work, portion by portion: objects first, then the rows that name them.
import { heartbeat } from '@temporalio/activity'
import type { ModelServerCompute } from '../src/compute/model-servers.ts'
import type { TrainerCompute } from '../src/compute/trainers.ts'
import type { Retention } from '../src/domain/retention.ts'
import type { Database } from '../src/repositories/database.ts'
import type { WorkflowRuns } from '../src/temporal/runs.ts'
import type { Storage } from '../src/storage/storage.ts'
import { withHeartbeat } from './heartbeat.ts'

export type HousekeepingDependencies = {
  database: Pick<Database, 'housekeeping' | 'now'>
  storage: Pick<Storage, 'remove'>
  trainers: Pick<TrainerCompute, 'removeEndedRuns'>
  modelServers: Pick<ModelServerCompute, 'removeEndedRuns'>
  runs: Pick<WorkflowRuns, 'deleteScheduled'>
  settings: { retention: Retention }
}

export type HousekeepingActivities = ReturnType<typeof createHousekeepingActivities>

const rowsPerPortion = 1000
const jobsPerPortion = 100
const batchesPerPortion = 100
const historiesPerPortion = 500

export function createHousekeepingActivities({
  database,
  storage,
  trainers,
  modelServers,
  runs,
  settings: { retention },
}: HousekeepingDependencies) {
  const { housekeeping } = database
  const ago = async (ms: number) => new Date((await database.now()).getTime() - ms)
  return {
    /** Those to Temporal and those to webhooks. @returns how many rows */
    async removeOldMessages(): Promise<number> {
      const toTemporal = await removeRows(retention.deliveredMessagesMs, housekeeping.deleteDeliveredMessages)
      return toTemporal + (await removeRows(retention.webhookDeliveriesMs, housekeeping.deleteWebhookDeliveries))
    },

    /** Those of requests, and those of batches of usage. @returns how many rows */
    async removeOldIdempotencyKeys(): Promise<number> {
      const ofRequests = await removeRows(retention.idempotencyKeysMs, housekeeping.deleteIdempotencyKeys)
      return ofRequests + (await removeRows(retention.usageWritersMs, housekeeping.deleteUsageWriters))
    },

    /** And what is broken of saved models. @returns how many artifacts */
    removeOldCheckpoints: (): Promise<number> =>
      withHeartbeat(async () => {
        const needed = {
          keptCheckpoints: retention.checkpointsPerJob,
          brokenBefore: await ago(retention.brokenArtifactsMs),
        }
        let [count, last] = [0, 0]
        for (;;) {
          const jobs = await housekeeping.jobsWithOldArtifacts(last, needed, jobsPerPortion)
          for (const jobId of jobs) count += await removeArtifacts(await housekeeping.oldArtifacts(jobId, needed))
          if (jobs.length < jobsPerPortion) return count
          last = jobs.at(-1) ?? last
        }
      }),

    removeOldBatches: (): Promise<number> =>
      portions(batchesPerPortion, async () => {
        const batches = await housekeeping.oldBatches(await ago(retention.batchesMs), batchesPerPortion)
        await storage.remove(batches.flatMap(({ keys }) => keys))
        await housekeeping.deleteBatches(batches.map(({ id }) => id))
        return batches.length
      }),

    removeEndedRuns: async (): Promise<number> =>
      withHeartbeat(async () => {
        const options = { endedForMs: retention.endedRunsMs }
        const removed = [await trainers.removeEndedRuns(options), await modelServers.removeEndedRuns(options)]
        return removed.flat().length
      }),

    removeOldHistories: ({ scheduleId }: { scheduleId: string }): Promise<number> =>
      portions(historiesPerPortion, async () =>
        runs.deleteScheduled(scheduleId, await ago(retention.upkeepHistoriesMs), historiesPerPortion),
      ),
  }

  /** What is older than it is kept. */
  function removeRows(keptMs: number, remove: (before: Date, limit: number) => Promise<number>): Promise<number> {
    return portions(rowsPerPortion, async () => remove(await ago(keptMs), rowsPerPortion))
  }

  async function removeArtifacts(old: Awaited<ReturnType<typeof housekeeping.oldArtifacts>>): Promise<number> {
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
