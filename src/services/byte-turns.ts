// Requests that read or write all bytes of a file or of stored rows: an account has a few of them under way in a process, and its
// others wait. So the pieces that one account moves between two looks at the sockets are few.
import { createTurns } from '../turns.ts'
import type { Ctx } from './context.ts'

const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfOne: 4 })
/** A page of large rows is parsed in one piece of some 20 ms, so an account reads one page at a time. */
const pageTurns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfOne: 1 })

/** Calls `work` in a turn of the account. One turn must not be taken within another. */
export const inByteTurn = <T>({ accountId }: Pick<Ctx, 'accountId'>, work: () => Promise<T>): Promise<T> =>
  inTurn(turns, accountId, work)

/** As inByteTurn, to read a page of a list whose rows may be large. */
export const inPageTurn = <T>({ accountId }: Pick<Ctx, 'accountId'>, work: () => Promise<T>): Promise<T> =>
  inTurn(pageTurns, accountId, work)

async function inTurn<T>(taken: typeof turns, accountId: string, work: () => Promise<T>): Promise<T> {
  await taken.take(accountId)
  try {
    return await work()
  } finally {
    taken.giveBack(accountId)
  }
}
