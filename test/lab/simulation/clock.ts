// Puts the timers, clocks and random identifiers of this Node process under the control of the schedule.
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import timersPromises from 'node:timers/promises'
import { kernel } from './kernel.ts'
import type { Timer } from './timer-queue.ts'

const realDate = Date

/** Replaces the timers and clocks of this process for good. */
export function takeOverTime() {
  globalThis.setTimeout = startTimer as unknown as typeof setTimeout
  globalThis.setInterval = startInterval as unknown as typeof setInterval
  globalThis.clearTimeout = clear as unknown as typeof clearTimeout
  globalThis.clearInterval = clear as unknown as typeof clearInterval
  Object.assign(timersPromises, { setTimeout: sleepUntilAborted })
  Object.assign(crypto, { randomUUID: seededUuid })
  Object.assign(performance, { now: () => kernel().nowMs })
  Math.random = () => kernel().random()
  globalThis.Date = class extends realDate {
    constructor(...args: unknown[]) {
      if (args.length === 0) super(kernel().nowMs)
      else super(...(args as [number]))
    }
    static override now = () => kernel().nowMs
  } as unknown as typeof Date
  syncBuiltinESMExports()
}

/** Takes the place of Node's Timeout. */
class Handle {
  readonly #next: () => Timer
  #timer: Timer | null

  constructor(next: () => Timer) {
    this.#next = next
    this.#timer = next()
  }

  again() {
    if (this.#timer) this.#timer = this.#next()
  }

  close() {
    if (this.#timer) this.#timer.work = null
    this.#timer = null
  }

  unref() {
    return this
  }
}

const startTimer = (work: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]) =>
  new Handle(() => kernel().after(delayMs, () => work(...args)))

function startInterval(work: () => void, everyMs: number): Handle {
  const handle: Handle = new Handle(() =>
    kernel().after(everyMs, () => {
      handle.again()
      work()
    }),
  )
  return handle
}

const clear = (handle?: { close?: () => void }) => handle?.close?.()

function sleepUntilAborted<T>(delayMs: number, value: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      timer.work = null
      reject(new DOMException('The operation was aborted', 'AbortError'))
    }
    const timer = kernel().after(delayMs, () => {
      signal?.removeEventListener('abort', abort)
      resolve(value)
    })
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })
  })
}

function seededUuid(): string {
  const hex = Array.from({ length: 8 }, () => kernel().between(0, 0xffff).toString(16).padStart(4, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
