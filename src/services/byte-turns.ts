// Requests that read or write all bytes of a file or of stored rows: an account has a few of them under way in a process, and its
// others wait. So the pieces that one account moves between two looks at the sockets are few.
import { createTurns } from '../turns.ts'
import type { Ctx } from './context.ts'

const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfAccount: 4 })

/** Calls `work` in a turn of the account. One turn must not be taken within another. */
export async function inByteTurn<T>({ accountId }: Pick<Ctx, 'accountId'>, work: () => Promise<T>): Promise<T> {
  await turns.take(accountId)
  try {
    return await work()
  } finally {
    turns.giveBack(accountId)
  }
}
