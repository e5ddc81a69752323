// Virtual time and seeded chance. One event happens at a time, and one schedule runs at a time.
import { AsyncLocalStorage } from 'node:async_hooks'
import { currentProc, outside, type Proc } from './processes.ts'
import { TimerQueue, type Timer } from './timer-queue.ts'

export { inProc, outside, place, Proc } from './processes.ts'

/** Every schedule starts at this time. */
const startMs = Date.UTC(2026, 0, 1)

class Kernel {
  nowMs = startMs
  events = 0
  /** Pieces of real work that the next event waits for. */
  busy = 0
  /** An error of the simulation itself, or of a replay. It ends the schedule, whatever catches it. */
  fatal: Error | null = null
  #order = 0
  #state: number
  readonly #timers = new TimerQueue()

  constructor(seed: number) {
    this.#state = (seed * 0x9e3779b9) >>> 0
  }

  get sinceStartMs() {
    return this.nowMs - startMs
  }

  /** Draws a number from 0 to 1 (mulberry32). */
  random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  chance = (share: number) => this.random() < share
  between = (low: number, high: number) => low + Math.floor(this.random() * (high - low + 1))
  pick = <T>(items: readonly T[]): T => items[Math.floor(this.random() * items.length)] as T

  /** Runs `work` later in the caller's process and async context. */
  after(delayMs: number, work: () => void): Timer {
    const inPlace = AsyncLocalStorage.snapshot()
    return this.#add(delayMs, () => inPlace(work), currentProc())
  }

  /** Runs `work` later even when the caller's process has died. */
  later(delayMs: number, work: () => void) {
    this.#add(delayMs, () => outside(work), undefined)
  }

  /** Resolves later; the caller continues in its own process and async context. */
  sleep = (delayMs: number) => new Promise<void>((resolve) => void this.#add(delayMs, resolve, currentProc()))

  #add(delayMs: number, work: () => void, proc: Proc | undefined): Timer {
    const timer = { atMs: this.nowMs + Math.max(0, delayMs), order: this.#order++, proc, work }
    this.#timers.push(timer)
    return timer
  }

  /** Runs events until `isOver`, until none is left, or up to a limit. @throws the error that `noteFatal` was given */
  async run(isOver: () => boolean, limits: { virtualMs: number; events: number }): Promise<'over' | 'idle' | 'limit'> {
    for (;;) {
      do await new Promise(setImmediate)
      while (this.busy > 0)
      if (this.fatal) throw this.fatal
      if (isOver()) return 'over'
      const timer = this.#next()
      if (!timer) return 'idle'
      if (this.sinceStartMs > limits.virtualMs || this.events > limits.events) return 'limit'
      this.events++
      this.nowMs = Math.max(this.nowMs, timer.atMs)
      const { work } = timer
      timer.work = null
      work?.()
    }
  }

  /** Skips timers of dead processes and postpones those of paused ones. */
  #next(): Timer | undefined {
    for (let timer = this.#timers.pop(); timer; timer = this.#timers.pop()) {
      if (timer.work === null || timer.proc?.isAlive === false) continue
      if (!timer.proc || timer.proc.pausedUntilMs <= timer.atMs) return timer
      timer.atMs = timer.proc.pausedUntilMs
      this.#timers.push(timer)
    }
    return undefined
  }
}

let current: Kernel = undefined as unknown as Kernel
export const kernel = () => current

/** Starts a new schedule: `kernel()` returns its kernel from now on. */
export function begin(seed: number): Kernel {
  current = new Kernel(seed)
  return current
}

export function noteFatal(error: unknown) {
  current.fatal ??= error instanceof Error ? error : new Error(String(error))
}

export function fail(error: unknown): never {
  noteFatal(error)
  throw error
}

export const never = <T>() => new Promise<T>(() => undefined)
