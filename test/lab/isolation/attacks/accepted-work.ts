// Work that the service accepts at once and does later: is it done?
import type { Answer } from '../accounts.ts'
import type { Attacker } from '../attack.ts'

const lookTimeoutMs = 60_000

/** Counts what is done when the attack is over. */
export async function countDone(attacker: Attacker, paths: readonly string[], isDone: (answer: Answer) => boolean) {
  attacker.accepted(paths.length)
  for (const path of paths) if (await isPathDone(attacker, path, isDone)) attacker.done(1)
}

async function isPathDone({ ask }: Attacker, path: string, isDone: (answer: Answer) => boolean) {
  // The attacker's own signal has fired by now.
  const answer = await ask('GET', path, undefined, AbortSignal.timeout(lookTimeoutMs))
  return answer.status === 200 && isDone(answer)
}
