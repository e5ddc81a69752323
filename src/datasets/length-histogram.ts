import type { LengthPercentiles } from '../domain/dataset-report.ts'

/** Shorter lengths have a bucket each. */
const exactBelow = 1024
/** Buckets of longer lengths grow by 1.1 %, up to the longest possible string. */
const stepsPerDoubling = 64
const doublings = 20

/** Percentiles of lengths in constant memory. */
export function createLengthHistogram() {
  const counts = new Uint32Array(exactBelow + stepsPerDoubling * doublings + 1)
  let total = 0
  let max = 0

  function percentile(share: number): number {
    const wanted = Math.ceil(total * share)
    let seen = 0
    for (const [bucket, count] of counts.entries()) {
      seen += count
      if (seen >= wanted) return Math.min(max, largestOf(bucket))
    }
    return max
  }

  return {
    add(length: number) {
      const bucket = bucketOf(length)
      counts[bucket] = (counts[bucket] ?? 0) + 1
      total++
      if (length > max) max = length
    },
    percentiles: (): LengthPercentiles =>
      total === 0
        ? { p50: 0, p90: 0, p99: 0, max: 0 }
        : { p50: percentile(0.5), p90: percentile(0.9), p99: percentile(0.99), max },
  }
}

const bucketOf = (length: number) =>
  length < exactBelow ? length : exactBelow + Math.floor(Math.log2(length / exactBelow) * stepsPerDoubling)

const largestOf = (bucket: number) =>
  bucket < exactBelow ? bucket : Math.floor(exactBelow * 2 ** ((bucket - exactBelow + 1) / stepsPerDoubling))
