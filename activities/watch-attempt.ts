// Watches an attempt to its end, and ends it where a limit says so: a time slice, a stall, a deadline.
import { cancellationSignal } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EndState, RunState } from '../src/compute/run.ts'
import { policyOf, type StopCause } from '../src/domain/attempt-cause.ts'
import { dueStop } from '../src/domain/attempt-limits.ts'
import { totalSteps } from '../src/domain/training-steps.ts'
import type { Attempt } from '../src/domain/training-job.ts'
import { copyLog } from './attempt-log.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { withHeartbeat } from './heartbeat.ts'
import { endOf } from './release.ts'

const lastCopyTimeoutMs = 10_000
const maxCheckIntervalMs = 15_000
/** Operators see progress soon after the program has begun. */
const firstCheckMs = 3000
/** The longest pause of a program between two tries to report (retry.py). */
const maxPauseMs = 10_000

export const createWatchActivity = (deps: FineTuneDependencies) => ({
  /**
   * Resolves when every process of the attempt has ended, or when a limit is reached: the release then ends it. Trouble
   * with asking is waited out.
   */
  watchAttempt: ({ jobId, attempt: number }: { jobId: number; attempt: number }): Promise<void> => {
    const shown: Shown = { progress: null, wait: null }
    return withHeartbeat(
      async () => {
        const attempt = await deps.database.attempts.get({ jobId, number })
        if (attempt.releasedAt !== null || attempt.runUid === null || attempt.cause !== null) return
        const { spec, preparedData } = await deps.database.trainingJobs.get(jobId)
        const { steps } = totalSteps(spec.args, preparedData?.train.rowCount ?? 0, spec.method)
        const over = new AbortController()
        const signal = AbortSignal.any([cancellationSignal(), over.signal])
        const watched = { attempt, steps, signal, isWaiting: true, shown }
        const copying = copyRegularly(deps, watched)
        try {
          await Promise.race([untilEnded(deps, watched), untilDue(deps, watched)])
        } finally {
          over.abort()
          // The release makes the last copy; one that arrives after it would cut the log.
          await Promise.race([copying, sleep(lastCopyTimeoutMs, undefined, { ref: false })])
        }
      },
      () => heartbeatDetails(shown),
    )
  },
})

/** While a run waits, as thousands may, its log is not read and its limits are not checked. */
type Watched = {
  attempt: Attempt
  /** The steps of the whole training. */
  steps: number
  signal: AbortSignal
  isWaiting: boolean
  shown: Shown
}

/** `wait`: what the compute says of a run that has not claimed its attempt. */
type Shown = { progress: Progress | null; wait: { reason: string; message: string } | null }

/** `heardAtMs`: the last sign of life, on this process's monotonic clock. */
type Progress = { phase: string; step: number | null; of: number; loss: number | null; heardAtMs: number }

/** Temporal shows them with the pending activity. */
function heartbeatDetails({ progress, wait }: Shown) {
  if (progress === null) return { phase: 'not started', ...wait }
  const { heardAtMs, ...shown } = progress
  return { ...shown, lastReportSeconds: Math.round((performance.now() - heardAtMs) / 1000) }
}

/** One copy at a time, however slow the store is. The next copy makes up for a failed one. */
async function copyRegularly(deps: FineTuneDependencies, watched: Watched): Promise<void> {
  const { attempt, signal } = watched
  let copiedBytes = 0
  while (!signal.aborted) {
    await sleep(deps.trainers.logReadIntervalMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted || watched.isWaiting) continue
    copiedBytes = await copyLog(deps, attempt, copiedBytes).catch(() => copiedBytes)
  }
}

async function untilEnded(deps: FineTuneDependencies, watched: Watched): Promise<void> {
  const { attempt, signal } = watched
  const { trainers, database } = deps
  const { jobId, generation, runName, runUid } = attempt
  let explaining = Promise.resolve()
  const onState = (state: RunState) => {
    if (state.state !== 'unreachable') watched.isWaiting = state.state === 'pending'
    const queued = queuedReason(state)
    if (!queued) return
    watched.shown.wait = queued
    explaining = explaining
      .then(() => database.trainingJobs.explain(jobId, generation, 'QUEUED', queued.reason, queued.message))
      .catch(() => undefined)
  }
  const end = await trainers.watch({ name: runName, uid: runUid ?? undefined }, { signal, onState })
  await explaining
  await recordEnd(deps, attempt, end)
}

/** Recorded here because a cluster may forget how the run ended before the release asks. */
async function recordEnd(deps: FineTuneDependencies, { jobId, number }: Attempt, end: EndState) {
  if (end.state === 'gone') return
  const position = { jobId, number }
  await deps.database.attempts.recordEnd(position, await endOf(deps, position, end))
}

/** Why a job is still QUEUED: its program has not claimed the attempt. */
function queuedReason(state: RunState): { reason: string; message: string } | null {
  if (state.state === 'pending') return { reason: state.reason, message: state.message }
  if (state.state === 'running') return { reason: 'starting', message: 'The training program is starting.' }
  return null
}

async function untilDue(deps: FineTuneDependencies, watched: Watched): Promise<void> {
  const { attempt, signal } = watched
  const { stallMs, timeSliceMs } = deps.settings.attemptLimits
  const everyMs = Math.min(maxCheckIntervalMs, stallMs / 3, timeSliceMs / 3)
  for (;;) {
    await sleep(watched.shown.progress ? everyMs : Math.min(everyMs, firstCheckMs), undefined, { signal })
    // The attempt continues if the database does not answer.
    const due = watched.isWaiting ? null : await limitReached(deps, watched).catch(() => null)
    if (due === null) continue
    const { sentence: message } = policyOf(due)
    await deps.database.attempts.recordEnd(
      { jobId: attempt.jobId, number: attempt.number },
      { cause: due, exitCode: null, message },
    )
    return
  }
}

async function limitReached(
  { database, health, settings }: FineTuneDependencies,
  { attempt, steps, shown }: Watched,
): Promise<StopCause | null> {
  const position = { jobId: attempt.jobId, number: attempt.number }
  const { phase, silentForMs, step, loss, ...look } = await database.attempts.lookAt(position)
  if (phase === null || silentForMs === null) return null
  shown.progress = { phase, step, of: steps, loss, heardAtMs: performance.now() - silentForMs }
  // While the API or a store is away, no sign of progress can arrive.
  const heardForMs = Math.min(silentForMs, health.soundForMs() - maxPauseMs)
  const due = dueStop({ ...look, phase, silentForMs: heardForMs }, settings.attemptLimits)
  return due === 'time_slice' && !(await database.attempts.othersWait(position)) ? null : due
}
