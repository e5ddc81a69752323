// Waits for work that a request has begun.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer } from '../accounts.ts'
import type { Asker } from './extreme.ts'

const pollMs = 250
const longestMs = 90_000

/** Polls until the answer is as wanted or a refusal. */
export async function settled(
  { ask, signal }: Asker,
  path: string,
  isDone: (answer: Answer) => boolean,
): Promise<void> {
  for (
    const deadline = performance.now() + longestMs;
    performance.now() < deadline && !signal.aborted;
    await sleep(pollMs)
  ) {
    const answer = await ask('GET', path)
    if (answer.status !== 200 || isDone(answer)) return
  }
}
