// One look of the reaper, started by a schedule: finds what no workflow takes care of any more, and releases it. Parts
// that cannot be asked are left for the next look; unknown is not dead.
import { log, patched, proxyActivities, setCurrentDetails } from '@temporalio/workflow'
import type { ReaperActivities } from '../activities/reaper.ts'

const limits = { heartbeatTimeout: '12 seconds', retry: { maximumAttempts: 1 } } as const

const { findStrayRuns, findUnwatchedServers, findStrayAttempts, findLostJobs, findLostBatches } =
  proxyActivities<ReaperActivities>({ ...limits, startToCloseTimeout: '30 seconds' })
// Above the grace period of a program. What takes longer goes on with the next look: a repeat does not prolong the grace.
const { endStrayRun, watchServerAgain, releaseStrayAttempt, endLostJob, startBatchAgain } =
  proxyActivities<ReaperActivities>({
    ...limits,
    startToCloseTimeout: '1 minute',
  })

/** How many of each were found; null where nothing is known. */
type ReaperResult = Record<'runs' | 'servers' | 'attempts' | 'jobs' | 'batches', number | null>

export async function reaper(): Promise<ReaperResult> {
  const [runs, servers, attempts, jobs, batches] = await Promise.all([
    reap(findStrayRuns, endStrayRun),
    reap(findUnwatchedServers, watchServerAgain),
    reap(findStrayAttempts, releaseStrayAttempt),
    reap(findLostJobs, endLostJob),
    // Looks that began before it was there replay without it.
    patched('batches') ? reap(findLostBatches, startBatchAgain) : null,
  ])
  const result = { runs, servers, attempts, jobs, batches }
  setCurrentDetails(
    Object.entries(result)
      .map(([what, count]) => `${what}: ${count ?? 'unknown'}`)
      .join(' · '),
  )
  return result
}

async function reap<T>(find: () => Promise<T[]>, release: (stray: T) => Promise<void>): Promise<number | null> {
  try {
    const strays = await find()
    await Promise.allSettled(strays.map(release))
    return strays.length
  } catch (error) {
    log.warn('cannot be asked now', { error })
    return null
  }
}
