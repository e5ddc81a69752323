// Removes old rows and objects. What fails now is left for the next round.
import { log, proxyActivities } from '@temporalio/workflow'
import type { RetentionActivities } from '../activities/retention.ts'
import { dailyRetentionWorkflowId, reaperWorkflowId, retentionWorkflowId, type RoundsInput } from './contract.ts'
import { keepRounds, showRound } from './rounds.ts'

const hourMs = 3_600_000

// A store that is away comes back within the round, or is asked again in the next.
const options = {
  heartbeatTimeout: '12 seconds',
  retry: { maximumAttempts: 3, initialInterval: '10 seconds' },
} as const

const activities = proxyActivities<RetentionActivities>({ ...options, startToCloseTimeout: '30 minutes' })
// Lists the whole object store.
const { removeOrphanedObjects } = proxyActivities<RetentionActivities>({ ...options, startToCloseTimeout: '4 hours' })

export const retention = (input: RoundsInput = {}) => keepRounds(hourMs, input, removeOld)

/** A service that is down at midnight (UTC) catches up when it starts. */
export const dailyRetention = (input: RoundsInput = {}) =>
  keepRounds(24 * hourMs, input, async () => showRemoved({ objects: await quietly(removeOrphanedObjects()) }))

async function removeOld(): Promise<void> {
  showRemoved({
    messages: await quietly(activities.removeOldMessages()),
    idempotencyKeys: await quietly(activities.removeOldIdempotencyKeys()),
    checkpoints: await quietly(activities.removeOldCheckpoints()),
    batches: await quietly(activities.removeOldBatches()),
    uploads: await quietly(activities.removeAbandonedUploads()),
    runs: await quietly(activities.removeEndedRuns()),
    histories: await removeHistories(),
  })
}

const showRemoved = (removed: Record<string, number | null>) => showRound('Removed in the last round', removed)

/** Null where one failed; the others are tried all the same. */
async function removeHistories(): Promise<number | null> {
  let sum: number | null = 0
  for (const workflowId of [reaperWorkflowId, retentionWorkflowId, dailyRetentionWorkflowId]) {
    const removed = await quietly(activities.removeClosedRuns({ workflowId }))
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
