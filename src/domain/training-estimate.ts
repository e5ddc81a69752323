// Estimates the time of a training from complete jobs on the same base model and as many GPUs.

/** A complete job that nothing interrupted. */
export type PastRun = {
  /** From the claim of its attempt to its end. */
  seconds: number
  steps: number
  rowsPerStep: number
  /** Mean of its newest steps. */
  secondsPerStep: number
  /** Mean tokens of its rows; null when they were not counted. */
  tokensPerRow: number | null
}

export type Planned = Pick<PastRun, 'steps' | 'rowsPerStep' | 'tokensPerRow'>
export type Estimate = { low: number; likely: number; high: number }

/** Start-up, saving and evaluation stay as they were; the time of a step follows its rows and their length. */
function secondsLike(past: PastRun, planned: Planned): number {
  const around = Math.max(0, past.seconds - past.steps * past.secondsPerStep)
  const longer =
    planned.tokensPerRow === null || past.tokensPerRow === null ? 1 : planned.tokensPerRow / past.tokensPerRow
  const secondsPerStep = past.secondsPerStep * (planned.rowsPerStep / past.rowsPerStep) * longer
  return around + planned.steps * secondsPerStep
}

/** The range leaves out the highest and the lowest tenth. @returns null without past runs */
export function estimateSeconds(past: readonly PastRun[], planned: Planned): Estimate | null {
  if (past.length === 0) return null
  const sorted = past.map((each) => secondsLike(each, planned)).toSorted((a, b) => a - b)
  const at = (share: number) => rounded(sorted[Math.round(share * (sorted.length - 1))] ?? 0)
  return { low: at(0.1), likely: at(0.5), high: at(0.9) }
}

const rounded = (seconds: number) => Math.round(seconds * 10) / 10
