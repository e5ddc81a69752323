// The end of an attempt: every process of it confirmed gone, its token dead, its outcome written down.
import type { EndState } from '../src/compute/compute.ts'
import { causeOfExit, type AttemptCause, type AttemptOutcome } from '../src/domain/attempt-outcome.ts'
import type { Attempt } from '../src/domain/training-job.ts'
import { logLimitBytes, writeLog } from './attempt-log.ts'
import type { FineTuneDependencies } from './fine-tune.ts'
import { withHeartbeat } from './heartbeat.ts'

type Ended = { cause: AttemptCause; exitCode: number | null; message: string }

export function createReleaseActivities(deps: FineTuneDependencies) {
  const { database } = deps
  return {
    releaseAttempt: ({ jobId, attempt: number }: { jobId: number; attempt: number }) =>
      withHeartbeat(async () => {
        const attempt = await release(deps, await database.attempts.get({ jobId, number }))
        return { outcome: await readOutcome(deps, attempt), resumesLeft: await resumesLeft(deps, jobId) }
      }),

    /** Every attempt that is not released yet, whatever became of the activity that made it. */
    releaseJob: ({ jobId }: { jobId: number }): Promise<void> =>
      withHeartbeat(async () => {
        for (const attempt of await database.attempts.listUnreleased(jobId)) await release(deps, attempt)
      }),
  }
}

async function release(deps: FineTuneDependencies, attempt: Attempt): Promise<Attempt> {
  const { database, compute, settings } = deps
  const position = { jobId: attempt.jobId, number: attempt.number }
  if (attempt.releasedAt === null) {
    // Not fenced before it is gone: after SIGTERM it still commits its emergency checkpoint.
    const { end, logTail } = await compute.terminate(
      { name: attempt.runName },
      { graceMs: settings.terminationGraceMs, logTailBytes: logLimitBytes },
    )
    if (logTail !== null) await writeLog(deps, attempt, logTail)
    const { reportedCause, message } = await database.attempts.get(position)
    await database.attempts.release(position, describeEnd(end, reportedCause === null ? null : message))
  }
  return database.attempts.get(position)
}

function describeEnd(end: EndState, reported: string | null): Ended {
  switch (end.state) {
    case 'succeeded':
      return { cause: 'finished', exitCode: 0, message: 'Finished.' }
    case 'failed':
      return { cause: causeOf(end), exitCode: end.exitCode, message: reported ?? end.message }
    case 'gone':
      return { cause: 'lost', exitCode: null, message: reported ?? 'Nothing of it is left, and nobody saw it end.' }
  }
}

function causeOf({ reason, exitCode }: Extract<EndState, { state: 'failed' }>): AttemptCause {
  if (reason === 'out_of_memory') return 'out_of_memory'
  if (exitCode !== null) return causeOfExit(exitCode)
  return reason === 'lost' || reason === 'node_lost' ? 'lost' : 'killed'
}

async function readOutcome({ database }: FineTuneDependencies, attempt: Attempt): Promise<AttemptOutcome> {
  const { jobId, generation, number, mode, cause, message, fromStep } = attempt
  const model = await database.artifacts.newestModel(jobId, generation)
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
