// The reaper finds resources whose workflow is gone, and releases them. A search that fails is left for the next round: unknown
// is not dead.
import { deprecatePatch, log, patched, proxyActivities } from '@temporalio/workflow'
import type { ReaperActivities } from '../activities/reaper.ts'
import type { RoundsInput } from './contract.ts'
import { keepRounds, showRound } from './rounds.ts'

/** With the default grace of 30 s, a lost resource is gone within a minute, even if its program ignores SIGTERM. */
const everyMs = 20_000

const limits = { heartbeatTimeout: '12 seconds', retry: { maximumAttempts: 1 } } as const

const {
  findStrayRuns,
  findUnwatchedServers,
  findStrayAttempts,
  findLostJobs,
  findLostWork,
  findLostBatches,
  findLostEvaluations,
  findLostExports,
} = proxyActivities<ReaperActivities>({ ...limits, startToCloseTimeout: '30 seconds' })
// Longer than a program's grace period. The next round continues what takes longer, without a new grace period.
const {
  endStrayRun,
  watchServerAgain,
  releaseStrayAttempt,
  endLostJob,
  startWorkAgain,
  startBatchAgain,
  startEvaluationAgain,
  startExportAgain,
} = proxyActivities<ReaperActivities>({
  ...limits,
  startToCloseTimeout: '1 minute',
})

export const reaper = (input: RoundsInput = {}) => keepRounds(everyMs, input, reapAll)

async function reapAll(): Promise<void> {
  const [runs, servers, attempts, jobs, work] = await Promise.all([
    reap(findStrayRuns, endStrayRun),
    reap(findUnwatchedServers, watchServerAgain),
    reap(findStrayAttempts, releaseStrayAttempt),
    reap(findLostJobs, endLostJob),
    patched('reap work of every kind') ? reap(findLostWork, startWorkAgain) : reapWorkAsV010(),
  ])
  showRound('Released in the last round', { runs, servers, attempts, jobs, work })
}

/** The rounds in histories of v0.1.0, and the one that is open during the update. */
async function reapWorkAsV010(): Promise<null> {
  const batches = reap(findLostBatches, startBatchAgain)
  deprecatePatch('reap lost evaluations')
  const evaluations = reap(findLostEvaluations, startEvaluationAgain)
  deprecatePatch('reap lost exports')
  await Promise.all([batches, evaluations, reap(findLostExports, startExportAgain)])
  return null
}

/** @returns how many were found, or null when the search failed */
async function reap<T>(find: () => Promise<T[]>, release: (stray: T) => Promise<unknown>): Promise<number | null> {
  try {
    const strays = await find()
    await Promise.allSettled(strays.map(release))
    return strays.length
  } catch (error) {
    log.warn('reaper search failed', { error })
    return null
  }
}
