// Means with 95 % intervals by the percentile bootstrap. The same scores always give the same interval.
import type { Interval } from '../domain/model-evaluation.ts'

const resampleCount = 1000
const seed = 20_261_125

/** Draws rows with replacement and takes the middle 95 % of the means. Null without scores. */
export function bootstrapMean(scores: readonly number[]): Interval | null {
  const { length } = scores
  if (length === 0) return null
  const mean = sum(scores) / length
  if (scores.every((score) => score === scores[0])) return { mean, low: mean, high: mean }
  const random = seededRandom(seed)
  const means = new Float64Array(resampleCount)
  for (let resample = 0; resample < resampleCount; resample++) {
    let drawn = 0
    for (let row = 0; row < length; row++) drawn += scores[Math.floor(random() * length)] as number
    means[resample] = drawn / length
  }
  means.sort()
  return { mean, low: quantile(means, 0.025), high: quantile(means, 0.975) }
}

/** Interpolates between neighbours, as numpy's default does. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1)
  const [below, above] = [sorted[Math.floor(at)] as number, sorted[Math.ceil(at)] as number]
  return below + (above - below) * (at - Math.floor(at))
}

const sum = (values: readonly number[]) => values.reduce((before, value) => before + value, 0)

/** mulberry32: 32 bits of state, uniform in [0, 1). */
function seededRandom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
