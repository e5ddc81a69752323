// Lets few searches run at once. An account that waits for its turn holds no connection, and keeps no other account waiting.
import { ServiceError } from '../../domain/service-error.ts'
import { createTurns } from '../../turns.ts'

const retryAfterSeconds = 5

export type SearchLimits = {
  /** Searches of this process at once. */
  total: number
  perAccount: number
  /** A search that has waited longer is refused. */
  waitMs: number
}

/** @param restMs how long an account rests after a search that took so long */
export function createSearchTurns(
  { total, perAccount, waitMs }: SearchLimits,
  restMs: (accountId: string, tookMs: number) => number = () => 0,
) {
  const turns = createTurns({ atMost: total, atMostOfAccount: perAccount })

  async function takeInTime(accountId: string, signal: AbortSignal): Promise<void> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(waitedTooLong(perAccount, waitMs)), waitMs)
    await turns.take(accountId, AbortSignal.any([signal, late.signal])).finally(() => clearTimeout(timer))
  }

  return {
    /** Runs one search. @throws ServiceError unavailable, the signal's reason, and as `search` */
    async run<T>(accountId: string, signal: AbortSignal, search: () => Promise<T>): Promise<T> {
      signal.throwIfAborted()
      await takeInTime(accountId, signal)
      const startedAt = performance.now()
      try {
        return await search()
      } finally {
        const leftMs = restMs(accountId, performance.now() - startedAt)
        if (leftMs > 0) setTimeout(() => turns.giveBack(accountId), leftMs).unref()
        else turns.giveBack(accountId)
      }
    },
  }
}

const waitedTooLong = (perAccount: number, waitMs: number) =>
  new ServiceError(
    'unavailable',
    `The search of stored rows waited ${waitMs / 1000} seconds for its turn. An account's searches run ${perAccount} at a time. Send fewer requests with stored rows at once.`,
    { retryAfterSeconds },
  )
