import type { EndState, RunRef, RunState } from '../../compute.ts'
import { isEndState } from '../../end-state.ts'
import type { Cluster } from '../cluster.ts'
import { limitsOf, readLiveState } from './read-snapshot.ts'
import { readRunState } from './run-state.ts'
import { watchState } from '../watch/watch-loop.ts'
import type { WatchOptions } from '../watch/watch-loop.ts'

export function watchRun(cluster: Cluster, run: RunRef, options: WatchOptions): Promise<EndState> {
  const { cache } = cluster
  const believe = () => {
    const snapshot = cache.snapshot(run.name)
    if (!snapshot.job || (run.uid !== undefined && snapshot.job.uid !== run.uid)) return null
    return readRunState(snapshot, limitsOf(cluster))
  }
  const ask = () => readLiveState(cluster, run, options.signal)
  return watchState({ name: run.name, cache, believe, isProven, ask }, options)
}

/** An end that something missing or the passing of time suggests may be a cache that lags. */
function isProven(state: RunState): boolean {
  return !isEndState(state) || state.state === 'succeeded' || (state.state === 'failed' && state.exitCode !== null)
}
