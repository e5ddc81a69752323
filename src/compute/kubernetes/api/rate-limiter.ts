import { setTimeout as sleep } from 'node:timers/promises'

export type RateLimiter = { take(signal?: AbortSignal): Promise<void> }

/** Admits `perSecond` calls a second, in the order in which they ask, and after a quiet time `burst` of them at once. */
export function createRateLimiter({
  perSecond,
  burst,
  now = () => performance.now(),
}: {
  perSecond: number
  burst: number
  now?: () => number
}): RateLimiter {
  const intervalMs = 1000 / perSecond
  let nextMs = -Infinity
  return {
    async take(signal) {
      signal?.throwIfAborted()
      nextMs = Math.max(nextMs, now() - (burst - 1) * intervalMs) + intervalMs
      const waitMs = nextMs - intervalMs - now()
      if (waitMs > 0) await sleep(waitMs, undefined, signal && { signal })
    },
  }
}
