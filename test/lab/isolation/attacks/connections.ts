// Several connections of one attacker at once.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../accounts.ts'

/** A refused attacker tries again sooner than it was told to, but does not spin. */
const refusedPauseMs = 100

/** Each connection asks again and again until the signal. */
export async function keepAsking(
  connections: number,
  signal: AbortSignal,
  ask: (connection: number, turn: number) => Promise<Answer>,
): Promise<void> {
  await Promise.all(
    Array.from({ length: connections }, async (_, connection) => {
      for (let turn = 0; !signal.aborted; turn++) {
        const { status } = await ask(connection, turn)
        if (status === 0 || status >= 429) await pause(refusedPauseMs, signal)
      }
    }),
  )
}

export const pause = (ms: number, signal: AbortSignal) => sleep(ms, undefined, { signal }).catch(() => undefined)

/** Asks until the signal, or until each number below `count` was used once. */
export async function askEach(
  { count, connections, signal }: { count: number; connections: number; signal: AbortSignal },
  ask: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < count && !signal.aborted) await ask(next++)
    }),
  )
}

/** An attack that has sent everything still lasts until the victim is measured. */
export const untilTold = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
