import { sendSignal } from './processes.ts'
import type { RunSnapshot } from './run-folder.ts'

/** Ends the processes that a program left running, if the watcher that should do so has died. Call it with each look at the run. */
export function createOrphanEnder(graceMs: number): (snapshot: RunSnapshot) => void {
  let seenAtMs: number | null = null
  return (snapshot) => {
    if (!snapshot.leader || snapshot.leaderAlive || snapshot.watcherAlive || !snapshot.groupAlive) {
      seenAtMs = null
      return
    }
    seenAtMs ??= performance.now()
    if (performance.now() - seenAtMs >= graceMs) sendSignal(snapshot.leader, 'SIGKILL', { group: true })
  }
}
