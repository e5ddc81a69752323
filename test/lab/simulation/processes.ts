// Simulated processes, which can die or hang at any instant, and the work that belongs to each.
import { AsyncLocalStorage } from 'node:async_hooks'

/** A process of the product. A dead process does no more work; the timers of a paused process wait. */
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

/** Runs work as part of a process; `task` names the work in crash points. */
export const inProc = <T>(proc: Proc, task: string, work: () => T): T => places.run({ proc, task }, work)

/** Runs work outside of any process, so that it goes on when the caller's process dies. */
export const outside = <T>(work: () => T): T => places.run(undefined, work)

export const currentProc = () => places.getStore()?.proc

export function place(): Place {
  const at = places.getStore()
  if (!at) throw new Error('This code runs outside of any simulated process: wrap it in inProc().')
  return at
}
