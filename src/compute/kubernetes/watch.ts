import { isDeepStrictEqual } from 'node:util'
import type { Compute, EndState, RunRef, RunState } from '../compute.ts'
import { isEndState } from '../end-state.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import type { Cluster } from './cluster.ts'
import { limitsOf, readLiveState } from './live-facts.ts'
import { readRunState } from './run-state.ts'

type WatchOptions = Parameters<Compute['watch']>[1]

/** A run of which the shared view knows nothing is asked for by itself; it should not be long. */
const askAgainMs = 1_000

export async function watchRun(cluster: Cluster, run: RunRef, { signal, onState }: WatchOptions): Promise<EndState> {
  signal.throwIfAborted()
  cluster.view.start()
  const { promise, resolve, reject } = Promise.withResolvers<EndState>()
  let last: RunState | undefined
  let askedAtMs = -Infinity
  let timer: NodeJS.Timeout | undefined
  const check = oneAtATime(async () => {
    // Its first lists are under way, and tell of all runs at once.
    if (!cluster.view.isCurrent() && cluster.view.trouble() === null) return
    const believed = believe(cluster, run)
    const proven = believed && isProven(believed) ? believed : await askNow()
    if (signal.aborted || proven === null) return
    if (!isDeepStrictEqual(proven, last)) onState?.((last = proven))
    if (isEndState(proven)) resolve(proven)
  }, reject)

  async function askNow(): Promise<RunState | null> {
    const waitMs = askedAtMs + askAgainMs - performance.now()
    if (waitMs > 0) {
      clearTimeout(timer)
      timer = setTimeout(check, waitMs)
      return null
    }
    askedAtMs = performance.now()
    return readLiveState(cluster, run, signal)
  }

  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const unsubscribe = cluster.view.subscribe(run.name, { onChange: check })
  check()
  try {
    return await promise
  } finally {
    unsubscribe()
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** By the shared view; null where that knows nothing of this run. */
function believe(cluster: Cluster, run: RunRef): RunState | null {
  const message = cluster.view.trouble()
  if (message !== null) return { state: 'unreachable', message }
  const facts = cluster.view.facts(run.name)
  if (!facts.job || (run.uid !== undefined && facts.job.uid !== run.uid)) return null
  return readRunState(facts, limitsOf(cluster))
}

/** An end that something missing or the passing of time suggests may be a view that lags. */
function isProven(state: RunState): boolean {
  return !isEndState(state) || state.state === 'succeeded' || (state.state === 'failed' && state.exitCode !== null)
}
