// Limits at which a worker ends a running attempt.
import type { StopCause } from './attempt-cause.ts'
import type { AttemptPhase } from './training-job-status.ts'

export type AttemptLimits = {
  /** Time that an attempt may train while other jobs wait for its slot. */
  timeSliceMs: number
  /** Shortest silence that counts as a stall. */
  stallMs: number
  /** Run time of one generation of a job, without its waits; null means no limit. */
  maxJobMs: number | null
}

export type RunningAttempt = {
  phase: AttemptPhase
  /** Since the attempt's claim. */
  ranForMs: number
  /** Run time of all attempts of this generation. */
  jobRanForMs: number
  /** Since the newest claim, phase or step. */
  silentForMs: number
  /** Median of the job's newest steps; null before the first. */
  medianStepMs: number | null
}

/** The trainer reports every ten steps: five missing reports. */
const silentStepsAllowed = 50
/** Loading, saving, evaluating and the first steps, which may compile, send no reports. */
const quietPhaseFactor = 8

/** @returns null while no limit is reached; the caller acts on `time_slice` only when others wait */
export function dueStop(attempt: RunningAttempt, limits: AttemptLimits): StopCause | null {
  if (limits.maxJobMs !== null && attempt.jobRanForMs >= limits.maxJobMs) return 'deadline'
  if (attempt.silentForMs >= silenceAllowedMs(attempt, limits)) return 'stalled'
  // Only the training phase can continue from a checkpoint.
  if (attempt.phase === 'TRAINING MODEL' && attempt.ranForMs >= limits.timeSliceMs) return 'time_slice'
  return null
}

function silenceAllowedMs({ phase, medianStepMs }: RunningAttempt, { stallMs }: AttemptLimits): number {
  if (phase !== 'TRAINING MODEL' || medianStepMs === null) return stallMs * quietPhaseFactor
  return Math.max(stallMs, silentStepsAllowed * medianStepMs)
}
