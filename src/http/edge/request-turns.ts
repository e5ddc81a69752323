// Accounts take turns at the event loop: with requests, and with the pieces of bodies and files that are streamed. Most requests
// are handled at once as far as the call of a model or the database, so two hundred that one account sends together would hold up
// another account's request until all of them are handled.
import { createTurns } from '../../turns.ts'

export type RequestTurns = (account: string) => Promise<void>

/** The returned function resolves when the account's turn has come: one turn between two looks at the sockets. */
export function createRequestTurns(): RequestTurns {
  const turns = createTurns({ atMost: 1, atMostOfAccount: 1 })
  return async (account) => {
    await turns.take(account)
    setImmediate(() => turns.giveBack(account))
  }
}

/** After a large answer, its account rests so many times as long as it took: they fill at most a quarter of a process's time. */
const restsOfAnswer = 3
const longestRestMs = 1000

/**
 * For routes whose answers may have megabytes: an account reads one at a time, each of which is parsed in one piece of some 10 ms and
 * leaves as much to the collector of garbage. The answer does not wait for the rest.
 */
export function createLargeAnswerTurns() {
  const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfAccount: 1 })
  return async <T>(account: string, work: () => Promise<T> | T): Promise<T> => {
    await turns.take(account)
    const begun = performance.now()
    try {
      return await work()
    } finally {
      const restMs = Math.min(restsOfAnswer * (performance.now() - begun), longestRestMs)
      setTimeout(() => turns.giveBack(account), restMs).unref()
    }
  }
}
