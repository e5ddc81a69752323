import { isEndState } from '../../run.ts'
import type { EndState, RunRef, RunState, WatchOptions } from '../../run.ts'
import { orUnreachable } from '../cluster.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { readLiveState } from './read-snapshot.ts'
import { readRunState } from './run-state.ts'
import { watchState } from '../watch/watch-loop.ts'

export function watchRun(cluster: TrainerCluster, run: RunRef, options: WatchOptions): Promise<EndState> {
  const { cache } = cluster
  const readCache = () => {
    const snapshot = cache.snapshot(run.name)
    if (!snapshot.job || (run.uid !== undefined && snapshot.job.uid !== run.uid)) return null
    return readRunState(snapshot, cluster.limits())
  }
  const ask = () => orUnreachable(() => readLiveState(cluster, run, options.signal), options.signal)
  return watchState({ name: run.name, cache, readCache, isCertain, ask }, options)
}

/** A cache that lags may suggest an end: only an exit code proves one. */
function isCertain(state: RunState): boolean {
  return !isEndState(state) || state.state === 'succeeded' || (state.state === 'failed' && state.exitCode !== null)
}
