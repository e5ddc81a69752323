// A heap of timers, the soonest first; timers of one instant keep the order in which they were set.
import type { Proc } from './processes.ts'

export type Timer = {
  atMs: number
  order: number
  proc: Proc | undefined
  /** Null once the timer has fired or was cleared. */
  work: (() => void) | null
}

export class TimerQueue {
  readonly #timers: Timer[] = []

  push(timer: Timer) {
    const heap = this.#timers
    let at = heap.push(timer) - 1
    for (let parent = (at - 1) >> 1; at > 0 && isBefore(timer, heap[parent] as Timer); parent = (at - 1) >> 1) {
      heap[at] = heap[parent] as Timer
      at = parent
    }
    heap[at] = timer
  }

  pop(): Timer | undefined {
    const heap = this.#timers
    const first = heap[0]
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child++
      if (!isBefore(heap[child] as Timer, last)) break
      heap[at] = heap[child] as Timer
      at = child
    }
    heap[at] = last
    return first
  }
}

const isBefore = (a: Timer, b: Timer) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
