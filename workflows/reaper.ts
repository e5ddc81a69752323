// One round of the reaper, started by a schedule: finds resources whose workflow is gone, and releases them. A search that
// fails is left for the next round: unknown is not dead.
import { log, proxyActivities, setCurrentDetails } from '@temporalio/workflow'
import type { ReaperActivities } from '../activities/reaper.ts'

const limits = { heartbeatTimeout: '12 seconds', retry: { maximumAttempts: 1 } } as const

const { findStrayRuns, findUnwatchedServers, findStrayAttempts, findLostJobs, findLostBatches } =
  proxyActivities<ReaperActivities>({ ...limits, startToCloseTimeout: '30 seconds' })
// Longer than a program's grace period. The next round continues what takes longer, without a new grace period.
const { endStrayRun, watchServerAgain, releaseStrayAttempt, endLostJob, startBatchAgain } =
  proxyActivities<ReaperActivities>({
    ...limits,
    startToCloseTimeout: '1 minute',
  })

/** How many of each were found; null where the search failed. */
type ReaperResult = Record<'runs' | 'servers' | 'attempts' | 'jobs' | 'batches', number | null>

export async function reaper(): Promise<ReaperResult> {
  const [runs, servers, attempts, jobs, batches] = await Promise.all([
    reap(findStrayRuns, endStrayRun),
    reap(findUnwatchedServers, watchServerAgain),
    reap(findStrayAttempts, releaseStrayAttempt),
    reap(findLostJobs, endLostJob),
    reap(findLostBatches, startBatchAgain),
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
    log.warn('reaper search failed', { error })
    return null
  }
}
