// Estimates the time of a training from complete jobs on the same base model and as many GPUs. A job takes a fixed time, for
// start-up, saving and evaluation, and a time for each step. A part of the time of a step follows the tokens of the step.

/** A complete job that nothing interrupted. */
export type PastJob = {
  /** From the claim of its attempt to its end. */
  seconds: number
  steps: number
  rowsPerStep: number
  /** With the checkpoints and validations between the steps. */
  secondsPerStep: number
  /** Mean tokens of its rows; null when they were not counted. */
  tokensPerRow: number | null
  /** Mean tokens of the answers that it sampled; null where a method samples none. */
  answerTokens?: number | null
}

export type Planned = Pick<PastJob, 'steps' | 'rowsPerStep' | 'tokensPerRow'>
export type Estimate = { low: number; likely: number; high: number }

/** Weight of a job, relative to that of the next newer one: the speed of a machine changes. */
const aging = 0.85
/** Tried as the share of a step's time that follows its tokens, for a step of the usual size. */
const shares = [0, 0.25, 0.5, 0.75, 1]
/** A share is kept if it explains the steps of the past jobs as well as the best share does, but for this mean error. */
const tolerance = 0.05
/** The error of an estimate is taken for this, as a natural logarithm, with the weight of `assumedJobs` jobs. */
const assumedError = 0.4
const assumedJobs = 2
/** Four of five values of a normal distribution lie within so many standard deviations. */
const fourOfFive = 1.28
const deviationPerMeanError = 1.25

type Sample = { job: PastJob; size: number; weight: number }

/**
 * @param past newest first
 * @returns a range that should hold four of five jobs, or null without past jobs
 */
export function estimateSeconds(past: readonly PastJob[], planned: Planned): Estimate | null {
  if (past.length === 0) return null
  const inTokens = planned.tokensPerRow !== null && past.every(({ tokensPerRow }) => tokensPerRow !== null)
  const sizeOf = ({ rowsPerStep, tokensPerRow }: Planned) =>
    rowsPerStep * (inTokens ? Math.max(1, tokensPerRow ?? 1) : 1)
  const samples = past.map((job, age) => ({ job, size: sizeOf(job), weight: aging ** age }))

  const lines = shares.map((share) => fitLine(samples, share))
  const best = Math.min(...lines.map(({ error }) => error))
  const kept = lines.filter(({ error }) => error <= best + tolerance)
  const fixed = median(samples, ({ job }) => Math.max(0, job.seconds - job.steps * job.secondsPerStep))
  const predict = ({ secondsPerStep }: Line, steps: number, size: number) => fixed + steps * secondsPerStep(size)

  const predictions = kept.map((line) => predict(line, planned.steps, sizeOf(planned))).toSorted((a, b) => a - b)
  const middle = kept[Math.floor(kept.length / 2)] ?? kept[0]
  const meanError = mean(samples, ({ job, size }) =>
    middle ? difference(job.seconds, predict(middle, job.steps, size)) : 0,
  )
  const width = Math.exp(fourOfFive * expectedError(meanError, past.length))
  return {
    low: rounded((predictions.at(0) ?? 0) / width),
    likely: rounded(predictions[Math.floor(predictions.length / 2)] ?? 0),
    high: rounded((predictions.at(-1) ?? 0) * width),
  }
}

type Line = { error: number; secondsPerStep: (size: number) => number }

function fitLine(samples: Sample[], share: number): Line {
  const usual = median(samples, ({ size }) => size)
  const relative = (size: number) => 1 - share + share * (size / usual)
  const speed = median(samples, ({ job, size }) => job.secondsPerStep / relative(size))
  const secondsPerStep = (size: number) => speed * relative(size)
  const error = mean(samples, ({ job, size }) => difference(job.secondsPerStep, secondsPerStep(size)))
  return { error, secondsPerStep }
}

/** As a natural logarithm. A time of zero counts as a tiny one. */
const difference = (a: number, b: number) => Math.abs(Math.log(Math.max(a, 1e-6) / Math.max(b, 1e-6)))

/** One job fits itself, so it says nothing about the error. */
function expectedError(meanError: number, jobs: number): number {
  const seen = deviationPerMeanError * meanError
  const error = (assumedJobs * assumedError + (jobs - 1) * seen) / (assumedJobs + jobs - 1)
  return error * Math.sqrt(1 + 1 / jobs)
}

/** The first value that at least half of the weight does not exceed. */
function median(samples: Sample[], valueOf: (sample: Sample) => number): number {
  const sorted = samples
    .map((sample) => ({ value: valueOf(sample), weight: sample.weight }))
    .toSorted((a, b) => a.value - b.value)
  let left = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2
  for (const { value, weight } of sorted) {
    left -= weight
    if (left <= 0) return value
  }
  return sorted.at(-1)?.value ?? 0
}

function mean(samples: Sample[], valueOf: (sample: Sample) => number): number {
  const total = samples.reduce((sum, { weight }) => sum + weight, 0)
  return samples.reduce((sum, sample) => sum + sample.weight * valueOf(sample), 0) / total
}

const rounded = (seconds: number) => Math.round(seconds * 10) / 10
