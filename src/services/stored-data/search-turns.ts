// Lets few searches run at once. An account that waits for its turn holds no connection, and keeps no other account waiting.
import { ServiceError } from '../../domain/service-error.ts'

type Waiting = { accountId: string } & PromiseWithResolvers<void>

const retryAfterSeconds = 5

export type SearchLimits = {
  /** Searches of this process at once. */
  total: number
  perAccount: number
  /** A search that has waited longer is refused. */
  waitMs: number
}

export function createSearchTurns({ total, perAccount, waitMs }: SearchLimits) {
  const runningOf = new Map<string, number>()
  let running = 0
  let waiting: Waiting[] = []
  const countOf = (accountId: string) => runningOf.get(accountId) ?? 0

  function change(accountId: string, by: 1 | -1) {
    running += by
    const count = countOf(accountId) + by
    if (count > 0) runningOf.set(accountId, count)
    else runningOf.delete(accountId)
  }

  /** The account with the fewest running searches goes first, and of these the one that has waited longest. */
  function admit() {
    while (running < total) {
      let next: Waiting | undefined
      for (const each of waiting) {
        const count = countOf(each.accountId)
        if (count < perAccount && (!next || count < countOf(next.accountId))) next = each
      }
      if (!next) return
      waiting = waiting.filter((each) => each !== next)
      change(next.accountId, 1)
      next.resolve()
    }
  }

  async function turn(accountId: string, signal: AbortSignal): Promise<void> {
    const mine: Waiting = { accountId, ...Promise.withResolvers<void>() }
    const leave = (reason: unknown) => {
      waiting = waiting.filter((each) => each !== mine)
      mine.reject(reason as Error)
    }
    const onAbort = () => leave(signal.reason)
    const timer = setTimeout(() => leave(waitedTooLong(perAccount, waitMs)), waitMs)
    signal.addEventListener('abort', onAbort)
    waiting.push(mine)
    admit()
    await mine.promise.finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    })
  }

  return {
    /** Runs one search. @throws ServiceError unavailable, the signal's reason, and as `search` */
    async run<T>(accountId: string, signal: AbortSignal, search: () => Promise<T>): Promise<T> {
      signal.throwIfAborted()
      await turn(accountId, signal)
      try {
        return await search()
      } finally {
        change(accountId, -1)
        admit()
      }
    },
  }
}

const waitedTooLong = (perAccount: number, waitMs: number) =>
  new ServiceError(
    'unavailable',
    `The search of the stored rows has waited ${waitMs / 1000} seconds for its turn: an account may run ${perAccount} searches at once. Send fewer requests with stored rows at once.`,
    { retryAfterSeconds },
  )
