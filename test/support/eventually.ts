// Waiting in tests: for a condition, never for a time.
import { setTimeout as sleep } from 'node:timers/promises'

/** Ends a test that would hang. A busy machine may be twenty times slower than an idle one. */
export const patienceMs = 15 * 60_000

type Falsy = null | undefined | false | 0 | ''

/** Looks until there is something to see. @returns what was seen */
export async function eventually<T>(look: () => T | Falsy | Promise<T | Falsy>, what = 'the condition'): Promise<T> {
  for (const deadlineMs = Date.now() + patienceMs; Date.now() < deadlineMs; await sleep(20)) {
    const seen = await look()
    if (seen) return seen
  }
  throw new Error(`${what} did not come true within ${patienceMs / 1000} s`)
}

/** Calls until a call succeeds. */
export async function untilSucceeds(call: () => Promise<unknown>): Promise<void> {
  await eventually(() =>
    call().then(
      () => true,
      () => false,
    ),
  )
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(holds, what)
}
