// Processes that can die or hang at any instant, and what belongs to which.
import { AsyncLocalStorage } from 'node:async_hooks'

/** What runs: a process of ours with its own memory. Dead, nothing of it goes on; paused, its timers wait. */
export class Proc {
  isAlive = true
  pausedUntilMs = 0
  readonly kind: 'worker' | 'api' | 'pod' | 'user'
  readonly #deaths = new Set<() => void>()

  constructor(kind: Proc['kind']) {
    this.kind = kind
  }

  die() {
    if (!this.isAlive) return
    this.isAlive = false
    for (const tell of this.#deaths) tell()
  }

  onDeath(tell: () => void): () => void {
    this.#deaths.add(tell)
    return () => this.#deaths.delete(tell)
  }
}

type Place = { proc: Proc; task: string }

const places = new AsyncLocalStorage<Place | undefined>()

/** Runs work as part of a process; `task` names what it does. */
export const inProc = <T>(proc: Proc, task: string, work: () => T): T => places.run({ proc, task }, work)

/** Work of no process of ours: it happens whatever becomes of the caller. */
export const outside = <T>(work: () => T): T => places.run(undefined, work)

export const currentProc = () => places.getStore()?.proc

export function place(): Place {
  const at = places.getStore()
  if (!at) throw new Error('outside of any simulated process')
  return at
}
