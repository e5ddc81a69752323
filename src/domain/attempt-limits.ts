// When a worker itself ends an attempt that runs. Pure.
import type { StopCause } from './attempt-cause.ts'
import type { AttemptPhase } from './training-job-status.ts'

export type AttemptLimits = {
  /** How long an attempt may train while others wait for its place. */
  timeSliceMs: number
  /** The least silence that counts as a stall. */
  stallMs: number
  /** How long one job may run, from its acceptance or resume on, without the time it waits; null: for ever. */
  maxJobMs: number | null
}

export type RunningAttempt = {
  phase: AttemptPhase
  /** Since its claim. */
  ranForMs: number
  /** All attempts of this generation together. */
  jobRanForMs: number
  /** Since its newest sign of progress. */
  silentForMs: number
  /** Of the newest reported steps of the job; null before the first. */
  medianStepMs: number | null
}

/** Five reports of ten steps. */
const silentStepsAllowed = 50
/** Loading, saving and evaluating report nothing while they last; nor do the first steps, which may have to compile. */
const quietPhaseFactor = 8

/** @returns null when it goes on; a time slice is due only if others wait */
export function dueStop(attempt: RunningAttempt, limits: AttemptLimits): StopCause | null {
  if (limits.maxJobMs !== null && attempt.jobRanForMs >= limits.maxJobMs) return 'deadline'
  if (attempt.silentForMs >= silenceAllowedMs(attempt, limits)) return 'stalled'
  // Only training has a checkpoint to go on from.
  if (attempt.phase === 'TRAINING MODEL' && attempt.ranForMs >= limits.timeSliceMs) return 'time_slice'
  return null
}

function silenceAllowedMs({ phase, medianStepMs }: RunningAttempt, { stallMs }: AttemptLimits): number {
  if (phase !== 'TRAINING MODEL' || medianStepMs === null) return stallMs * quietPhaseFactor
  return Math.max(stallMs, silentStepsAllowed * medianStepMs)
}
