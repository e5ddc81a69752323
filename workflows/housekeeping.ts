// One round of the housekeeping, started by a schedule. What cannot be removed now is left for the next round.
import { log, proxyActivities } from '@temporalio/workflow'
import type { HousekeepingActivities } from '../activities/housekeeping.ts'
import { housekeepingScheduleId, reaperScheduleId } from './contract.ts'

const activities = proxyActivities<HousekeepingActivities>({
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '12 seconds',
  // Stores that are away come back within the round, or are asked again in the next.
  retry: { maximumAttempts: 3, initialInterval: '10 seconds' },
})

/** How much of each was removed; null where that failed. */
export async function housekeeping(): Promise<Record<string, number | null>> {
  return {
    messages: await quietly(activities.removeOldMessages()),
    idempotencyKeys: await quietly(activities.removeOldIdempotencyKeys()),
    checkpoints: await quietly(activities.removeOldCheckpoints()),
    batches: await quietly(activities.removeOldBatches()),
    runs: await quietly(activities.removeEndedRuns()),
    reaperHistories: await quietly(activities.removeOldHistories({ scheduleId: reaperScheduleId })),
    housekeepingHistories: await quietly(activities.removeOldHistories({ scheduleId: housekeepingScheduleId })),
  }
}

async function quietly(removing: Promise<number>): Promise<number | null> {
  try {
    return await removing
  } catch (error) {
    log.warn('cannot be removed now', { error })
    return null
  }
}
