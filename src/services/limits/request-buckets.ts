// How many requests a key may make. Answered from memory at once; the processes tell each other through the database.
//
// A bucket of `burst` requests drains by `perSecond`. What holds, for any number of api processes: over t seconds a key
// gets at most perSecond * t + burst * processes requests. For a process alone the bound is exact; several learn of each
// other within 0.1 s, and what was granted twice meanwhile is a debt that is waited off. While the database is away each
// process holds the limit for itself.
import type { Log } from '../../log.ts'
import type { BucketCharge } from '../../repositories/rate-limits.ts'

const shareEveryMs = 100

export type RequestRate = { perSecond: number; burst: number }

/** `fullAtMs - now` is how far ahead of time the key is; `unsharedMs` is what the others do not know of yet. */
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

  /** @returns 0, or the milliseconds after which the next request of this key will be taken */
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
      log.warn({ err: error }, 'the request counts are not shared')
    }
  }

  return {
    take,
    /** Tells the others what they do not know yet. */
    async close() {
      clearTimeout(timer)
      await sharing
      await exchange()
    },
  }
}
