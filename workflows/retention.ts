// Removes old rows and objects. What fails now is left for the next round.
import { log, patched, proxyActivities } from '@temporalio/workflow'
import type { RetentionActivities } from '../activities/retention.ts'
import type { RoundsInput } from './contract.ts'
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
  if (!patched('remove kind by kind')) return removeAsV010()
  const removed: Record<string, number | null> = {}
  // A release may know other kinds, so their list is part of the history.
  for (const kind of (await quietly(activities.listOldKinds())) ?? [])
    removed[kind] = await quietly(activities.removeOld.executeWithOptions({ summary: kind }, [{ kind }]))
  showRemoved(removed)
}

/** The rounds in histories of v0.1.0, and the one that is open during the update. */
async function removeAsV010(): Promise<void> {
  await quietly(activities.removeOldMessages())
  await quietly(activities.removeOldIdempotencyKeys())
  await quietly(activities.removeOldCheckpoints())
  await quietly(activities.removeOldBatches())
  await quietly(activities.removeAbandonedUploads())
  await quietly(activities.removeEndedRuns())
  for (let count = 0; count < 3; count++) await quietly(activities.removeClosedRuns())
}

const showRemoved = (removed: Record<string, number | null>) => showRound('Removed in the last round', removed)

/** Null where it failed: the next round tries again. */
async function quietly<T>(removing: Promise<T>): Promise<T | null> {
  try {
    return await removing
  } catch (error) {
    log.warn('retention step failed', { error })
    return null
  }
}
