import type { EndState, RunRef, RunState } from '../../compute.ts'
import { isEndState } from '../../end-state.ts'
import type { Cluster } from '../cluster.ts'
import { limitsOf, readLiveState } from './read-snapshot.ts'
import { readRunState } from './run-state.ts'
import { watchState } from '../watch/watch-loop.ts'
import type { WatchOptions } from '../watch/watch-loop.ts'

export function watchRun(cluster: Cluster, run: RunRef, options: WatchOptions): Promise<EndState> {
  const { view } = cluster
  const believe = () => {
    const facts = view.facts(run.name)
    if (!facts.job || (run.uid !== undefined && facts.job.uid !== run.uid)) return null
    return readRunState(facts, limitsOf(cluster))
  }
  const ask = () => readLiveState(cluster, run, options.signal)
  return watchState({ name: run.name, view, believe, isProven, ask }, options)
}

/** An end that something missing or the passing of time suggests may be a view that lags. */
function isProven(state: RunState): boolean {
  return !isEndState(state) || state.state === 'succeeded' || (state.state === 'failed' && state.exitCode !== null)
}
