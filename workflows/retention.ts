// Removes old rows and objects, started by schedules. What fails now is left for the next round.
import { log, proxyActivities } from '@temporalio/workflow'
import type { RetentionActivities } from '../activities/retention.ts'
import { dailyRetentionScheduleId, reaperScheduleId, retentionScheduleId } from './contract.ts'

// A store that is away comes back within the round, or is asked again in the next.
const options = {
  heartbeatTimeout: '12 seconds',
  retry: { maximumAttempts: 3, initialInterval: '10 seconds' },
} as const

const activities = proxyActivities<RetentionActivities>({ ...options, startToCloseTimeout: '30 minutes' })
// Lists the whole object store.
const { removeOrphanedObjects } = proxyActivities<RetentionActivities>({ ...options, startToCloseTimeout: '4 hours' })

/** How many of each were removed; null where that failed. */
type Removed = Record<string, number | null>

export async function retention(): Promise<Removed> {
  return {
    messages: await quietly(activities.removeOldMessages()),
    idempotencyKeys: await quietly(activities.removeOldIdempotencyKeys()),
    checkpoints: await quietly(activities.removeOldCheckpoints()),
    batches: await quietly(activities.removeOldBatches()),
    uploads: await quietly(activities.removeAbandonedUploads()),
    runs: await quietly(activities.removeEndedRuns()),
    histories: await removeHistories(),
  }
}

export async function dailyRetention(): Promise<Removed> {
  return { objects: await quietly(removeOrphanedObjects()) }
}

/** Null where one failed; the others are tried all the same. */
async function removeHistories(): Promise<number | null> {
  let sum: number | null = 0
  for (const scheduleId of [reaperScheduleId, retentionScheduleId, dailyRetentionScheduleId]) {
    const removed = await quietly(activities.removeScheduledHistories({ scheduleId }))
    sum = sum === null || removed === null ? null : sum + removed
  }
  return sum
}

async function quietly(removing: Promise<number>): Promise<number | null> {
  try {
    return await removing
  } catch (error) {
    log.warn('retention step failed', { error })
    return null
  }
}
