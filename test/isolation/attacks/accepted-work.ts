// Work that the service accepts at once and does later: is it done?
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../accounts.ts'
import type { Attacker } from '../attack.ts'

const pollMs = 200
const lookTimeoutMs = 60_000

/** Counts what is done. The short size waits for each piece of work; the full size looks once. */
export async function countDone(attacker: Attacker, paths: readonly string[], isDone: (answer: Answer) => boolean) {
  attacker.accepted(paths.length)
  for (const path of paths) if (await isPathDone(attacker, path, isDone)) attacker.done(1)
}

async function isPathDone({ size, ask }: Attacker, path: string, isDone: (answer: Answer) => boolean) {
  for (;;) {
    // The attacker's own signal has fired by now.
    const answer = await ask('GET', path, undefined, AbortSignal.timeout(lookTimeoutMs))
    if (answer.status === 200 && isDone(answer)) return true
    if (size === 'full' || answer.status !== 200) return false
    await sleep(pollMs)
  }
}
