// Limits the requests per second of a key from memory. The api processes share their counts through the database.
//
// A bucket of `burst` requests drains by `perSecond`. Over t seconds a key gets at most perSecond * t + burst * processes
// requests, exactly so with one process. Several processes share their counts every 0.1 s, and later requests wait off
// what was granted twice. Without the database each process applies the limit alone.
import type { Log } from '../../log.ts'
import type { BucketCharge } from '../../repositories/rate-limits.ts'

const shareEveryMs = 100

export type RequestRate = { perSecond: number; burst: number }

/** `fullAtMs - now` is the part of the bucket in use; `unsharedMs` is the part that other processes do not know. */
type Bucket = { fullAtMs: number; unsharedMs: number }

type Options = {
  rate: RequestRate
  charge: (charges: readonly BucketCharge[]) => Promise<Map<string, number>>
  log: Log
  now?: () => number
}

export function createRequestBuckets({ rate, charge, log, now = () => performance.now() }: Options) {
  const costMs = 1000 / rate.perSecond
  const capacityMs = costMs * rate.burst
  const buckets = new Map<string, Bucket>()
  let timer: NodeJS.Timeout | undefined
  let sharing: Promise<void> | undefined

  /** @returns 0 when the request may run, else the milliseconds until the next one may */
  function take(key: string): number {
    const at = now()
    let bucket = buckets.get(key)
    if (!bucket) buckets.set(key, (bucket = { fullAtMs: at, unsharedMs: 0 }))
    const next = Math.max(bucket.fullAtMs, at) + costMs
    if (next - at > capacityMs) return next - at - capacityMs
    bucket.fullAtMs = next
    bucket.unsharedMs += costMs
    timer ??= setTimeout(() => void share(), shareEveryMs).unref()
    return 0
  }

  function share(): Promise<void> {
    return (sharing ??= exchange().finally(() => {
      sharing = undefined
      timer = buckets.size > 0 ? setTimeout(() => void share(), shareEveryMs).unref() : undefined
    }))
  }

  async function exchange() {
    const charges: BucketCharge[] = []
    for (const [key, bucket] of buckets) {
      const wholeMs = Math.floor(bucket.unsharedMs)
      if (wholeMs > 0) {
        bucket.unsharedMs -= wholeMs
        charges.push({ key, costMs: wholeMs })
      } else if (bucket.fullAtMs <= now()) buckets.delete(key)
    }
    if (charges.length === 0) return
    try {
      const aheadMs = await charge(charges)
      for (const [key, bucket] of buckets) {
        const ahead = aheadMs.get(key)
        if (ahead !== undefined) bucket.fullAtMs = now() + ahead + bucket.unsharedMs
      }
    } catch (error) {
      log.warn({ err: error }, 'failed to exchange the request counts')
    }
  }

  return {
    take,
    /** Shares the last counts. */
    async close() {
      clearTimeout(timer)
      await sharing
      await exchange()
    },
  }
}
