// Figures of a whole evaluation out of the scores of its rows.
import type { Scores } from '../domain/grader.ts'
import type { Comparison, GraderSummary } from '../domain/model-evaluation.ts'
import { bootstrapMean } from './bootstrap.ts'

/** Scores closer than this are equal: sums of floats differ in their last digits. */
const tieWidth = 1e-9

/** Null when no row has a score of this grader. */
export function summarise(grader: string, rows: readonly (Scores | null)[]): GraderSummary | null {
  const scores = rows.flatMap((row) => row?.[grader] ?? [])
  const interval = bootstrapMean(scores)
  return interval && { ...interval, rows: scores.length }
}

/** Compares row by row, where both have a score. Null when no row has both. */
export function compare(
  grader: string,
  rows: readonly (Scores | null)[],
  others: readonly (Scores | null)[],
): Comparison | null {
  const differences = rows.flatMap((row, index) => {
    const [ours, theirs] = [row?.[grader] ?? null, others[index]?.[grader] ?? null]
    return ours === null || theirs === null ? [] : [ours - theirs]
  })
  const difference = bootstrapMean(differences)
  if (!difference) return null
  const better = differences.filter((each) => each > tieWidth).length
  const worse = differences.filter((each) => each < -tieWidth).length
  return { difference, better, equal: differences.length - better - worse, worse }
}
