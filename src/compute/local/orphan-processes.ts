import { sendSignal } from './processes.ts'
import type { RunFacts } from './run-folder.ts'

/** Ends what a program left running, where the watcher whose task that is has died as well. Call with each look at the run. */
export function createLeftoverEnder(graceMs: number): (facts: RunFacts) => void {
  let seenAtMs: number | null = null
  return (facts) => {
    if (!facts.leader || facts.leaderAlive || facts.watcherAlive || !facts.groupAlive) {
      seenAtMs = null
      return
    }
    seenAtMs ??= performance.now()
    if (performance.now() - seenAtMs >= graceMs) sendSignal(facts.leader, 'SIGKILL', { group: true })
  }
}
