// Accounts take turns at the event loop: with requests, and with the pieces of bodies and files that are streamed. Most requests
// are handled at once as far as the call of a model or the database, so two hundred that one account sends together would hold up
// another account's request until all of them are handled.
import { createTurns } from '../../turns.ts'

export type RequestTurns = (account: string) => Promise<void>

/** The returned function resolves when the account's turn has come: one turn between two looks at the sockets. */
export function createRequestTurns(): RequestTurns {
  const turns = createTurns({ atMost: 1, atMostOfOne: 1 })
  return async (account) => {
    await turns.take(account)
    setImmediate(() => turns.giveBack(account))
  }
}

/** Yields the pieces of a body or a file. Each waits for a turn, but not the first: its request has just had one. */
export async function* inTurns<T>(pieces: AsyncIterable<T>, turn: () => Promise<void>): AsyncGenerator<T> {
  let isFirst = true
  for await (const piece of pieces) {
    if (!isFirst) await turn()
    isFirst = false
    yield piece
  }
}
