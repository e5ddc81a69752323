// The end of an attempt: every process of it confirmed gone, its token dead, its outcome written down.
import type { RunState } from '../src/compute/compute.ts'
import { causeOfExit, type AttemptCause, type AttemptOutcome } from '../src/domain/attempt-outcome.ts'
import type { Attempt } from '../src/domain/training-job.ts'
import { copyLog } from './attempt-log.ts'
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
    const run = { name: attempt.runName }
    await compute.terminate(run, { graceMs: settings.terminationGraceMs })
    const state = await compute.probe(run)
    await copyLog(deps, attempt)
    const { reportedCause, message } = await database.attempts.get(position)
    await database.attempts.release(position, describeEnd(state, reportedCause === null ? null : message))
  }
  return database.attempts.get(position)
}

/** @throws while the run's state is not known or not final: the caller tries again */
function describeEnd(state: RunState, reported: string | null): Ended {
  switch (state.state) {
    case 'succeeded':
      return { cause: 'finished', exitCode: 0, message: 'Finished.' }
    case 'failed': {
      const cause =
        state.exitCode === null ? (state.reason === 'lost' ? 'lost' : 'killed') : causeOfExit(state.exitCode)
      return { cause, exitCode: state.exitCode, message: reported ?? state.message }
    }
    case 'gone':
      return { cause: 'lost', exitCode: null, message: reported ?? 'Nothing of it is left, and nobody saw it end.' }
    case 'pending':
    case 'running':
    case 'unreachable':
      throw new Error(`the run is ${state.state} after it was terminated`)
  }
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
