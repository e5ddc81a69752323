// The progress of a job, from the newest step that its trainer reported.

export type JobProgress = {
  step: number
  /** Null before the data is checked. */
  of: number | null
  percent: number | null
  /** Tokens and their rate; null when the trainer reports none. */
  tokens: number | null
  tokensPerSecond: number | null
  remainingSeconds: number | null
}

/** A stored step: its series by name. */
type ReportedStep = { step: number } & Record<string, number | null>

/** @returns null before the first step */
export function progressOf(
  last: ReportedStep | null,
  { totalSteps, isTraining }: { totalSteps: number | null; isTraining: boolean },
): JobProgress | null {
  if (last === null) return null
  return {
    step: last.step,
    of: totalSteps,
    percent: totalSteps === null ? null : Math.min(100, Math.round((1000 * last.step) / totalSteps) / 10),
    tokens: last['tokens'] ?? null,
    tokensPerSecond: last['tokens_per_second'] ?? null,
    // Only a job that trains comes nearer to its end. The first step is slower than the others, so it tells no rate.
    remainingSeconds: isTraining && last.step > 1 ? (last['remaining_time'] ?? null) : null,
  }
}
