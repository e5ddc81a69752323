// Releases an attempt: every process confirmed gone, its token dead, its outcome recorded.
import type { EndState } from '../src/compute/run.ts'
import type { AttemptOutcome } from '../src/domain/attempt-outcome.ts'
import type { Attempt } from '../src/domain/training-job.ts'
import { describeAttemptEnd } from './attempt-cause.ts'
import { keepLog, logLimitBytes } from './attempt-log.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { withHeartbeat } from './heartbeat.ts'

type Position = { jobId: number; number: number }

export type ReleaseDependencies = Pick<FineTuneDependencies, 'database' | 'trainers' | 'storage'> & {
  settings: { terminationGraceMs: number }
}

export function createReleaseActivities(deps: FineTuneDependencies) {
  const { database } = deps
  return {
    releaseAttempt: ({ jobId, attempt: number }: { jobId: number; attempt: number }) =>
      withHeartbeat(async () => {
        const attempt = await release(deps, await database.attempts.get({ jobId, number }))
        return { outcome: await readOutcome(deps, attempt), resumesLeft: await resumesLeft(deps, jobId) }
      }),

    /** Releases every attempt that is not released yet. */
    releaseJob: ({ jobId, generation }: { jobId: number; generation: number }): Promise<void> =>
      withHeartbeat(async () => {
        for (const each of await database.attempts.listUnreleased(jobId, generation)) await release(deps, each)
      }),
  }
}

/** Resolves once no process of it runs and its slot is free. Where the store is away, the log is written later. */
export async function release(deps: ReleaseDependencies, attempt: Attempt, signal?: AbortSignal): Promise<Attempt> {
  const { database, trainers, settings } = deps
  const position = { jobId: attempt.jobId, number: attempt.number }
  if (attempt.releasedAt === null) {
    // Not fenced before SIGTERM: the program then commits its emergency checkpoint. Only on a lost node, whose processes
    // may live on, is it fenced before it is declared dead.
    const { end, logTail } = await trainers.terminate(
      { name: attempt.runName },
      {
        graceMs: settings.terminationGraceMs,
        logTailBytes: logLimitBytes,
        fence: () => database.attempts.fence(position),
        ...(signal && { signal }),
      },
    )
    await database.attempts.release(position, await endOf(deps, position, end))
    if (logTail !== null) await keepLog(deps, attempt, logTail)
  }
  return database.attempts.get(position)
}

/** How the attempt ended, by its run, by what was recorded before, and by whether its job was cancelled. */
export async function endOf({ database }: Pick<ReleaseDependencies, 'database'>, position: Position, end: EndState) {
  const [attempt, { cancelRequestedAt }] = await Promise.all([
    database.attempts.get(position),
    database.trainingJobs.get(position.jobId),
  ])
  return describeAttemptEnd(end, attempt, { isCancelled: cancelRequestedAt !== null })
}

async function readOutcome({ database }: FineTuneDependencies, attempt: Attempt): Promise<AttemptOutcome> {
  const { jobId, number, mode, cause, message, fromStep } = attempt
  const model = await database.artifacts.newestModel(jobId)
  const checkpoints = await database.artifacts.listUsable(jobId, 'checkpoint')
  return {
    cause: cause ?? 'lost',
    message: message ?? '',
    mode,
    modelSaved: model !== null,
    evaluated: model !== null && (await database.artifacts.isEvaluated(model.id)),
    newCheckpoint: checkpoints.some((checkpoint) => checkpoint.attempt === number && checkpoint.step > fromStep),
    hasCheckpoint: checkpoints.length > 0,
  }
}

async function resumesLeft({ database }: FineTuneDependencies, jobId: number): Promise<number> {
  const { resumeLimit, resumeCount } = await database.trainingJobs.get(jobId)
  return resumeLimit - resumeCount
}
