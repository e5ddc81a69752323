import { Context } from '@temporalio/activity'
import { fineTuneWorkflowId } from '../src/domain/identifiers.ts'
import {
  isTerminal,
  phasesBetween,
  type AttemptPhase,
  type TrainingJobStatus,
} from '../src/domain/training-job-status.ts'
import type { JobEnding, TrainingJob } from '../src/domain/training-job.ts'
import type { AcceptedCancel } from '../workflows/contract.ts'
import { modelOf } from './publish.ts'
import { boundedTries } from './bounded-tries.ts'
import type { PrepareDependencies, PrepareRows } from './prepare-rows.ts'

type JobGeneration = { jobId: number; generation: number }

const cancelledInTemporal = 'Cancelled in Temporal. Releasing its resources.'

export function createJobActivities({ database }: Pick<PrepareDependencies, 'database'>, prepareRows: PrepareRows) {
  return {
    async prepareDataset({ jobId }: JobGeneration): Promise<void> {
      const job = await database.trainingJobs.get(jobId)
      const { cancellationSignal } = Context.current()
      if (isTerminal(job.status)) return
      const work = { id: `job-${jobId}`, what: 'The check of the training data', type: 'NotUnderstood' } as const
      await boundedTries(work, () => prepareRows(job, cancellationSignal))
    },

    /** Moves forward to the phase, one status at a time. Ignores an earlier phase and older attempts. @returns the status afterwards */
    recordPhase: ({
      jobId,
      generation,
      attempt,
      phase,
    }: JobGeneration & { attempt: number; phase: AttemptPhase }): Promise<TrainingJobStatus> =>
      database.transaction(async (tx) => {
        const job = await tx.trainingJobs.hold(jobId)
        if (job.currentAttempt !== attempt) return job.status
        for (const to of phasesBetween(job.status, phase))
          await tx.trainingJobs.move({
            jobId,
            generation,
            to,
            reason: null,
            message: null,
            attempt,
            actor: `attempt:${attempt}`,
          })
        return (await tx.trainingJobs.get(jobId)).status
      }),

    /** Ends the job and publishes its model in one transaction: a job that is cancelled meanwhile leaves no model behind. */
    finishJob: ({
      jobId,
      generation,
      status,
      reason,
      message,
      modelName,
      artifactId,
    }: JobGeneration & JobEnding & { artifactId: string | null }) =>
      database.transaction(async (tx) => {
        const moved = await tx.trainingJobs.move({
          jobId,
          generation,
          to: status,
          reason,
          message,
          ...(modelName === null ? {} : { modelName }),
          actor: 'workflow',
        })
        const artifact = artifactId === null ? null : await tx.artifacts.find(jobId, artifactId)
        if (moved === 'moved' && artifact && modelName !== null)
          await tx.models.publish(modelOf(await tx.trainingJobs.get(jobId), artifact, modelName))
        return moved
      }),

    /** Accepts the update `cancel`, as the API accepts a cancel: the relay delivers it to this workflow. */
    requestCancel: ({ jobId, generation }: JobGeneration): Promise<AcceptedCancel> =>
      database.transaction(async (tx) => {
        const job = await tx.trainingJobs.hold(jobId)
        const ending = endingOf(job, generation)
        if (ending) return { accepted: false, status: ending.status, message: ending.message }
        const message = cancelledInTemporal
        if (await tx.trainingJobs.requestCancel(jobId, message)) {
          await tx.jobEvents.add(jobId, { kind: 'command', reason: 'cancel', actor: 'temporal' })
          await tx.outbox.add({ workflowId: fineTuneWorkflowId(jobId), kind: 'cancel', generation, payload: { jobId } })
        } else if (job.pauseRequestedAt) await tx.trainingJobs.forgetPause(jobId)
        return { accepted: true, status: job.status, message }
      }),

    /** Accepts a cancel that came through Temporal alone. @returns how the job ended, if it has */
    acceptCancel: ({ jobId, generation }: JobGeneration): Promise<{ ended: JobEnding | null }> =>
      database.transaction(async (tx) => {
        const job = await tx.trainingJobs.hold(jobId)
        const ending = endingOf(job, generation)
        if (ending) return { ended: ending }
        if (await tx.trainingJobs.requestCancel(jobId, cancelledInTemporal))
          await tx.jobEvents.add(jobId, { kind: 'command', reason: 'cancel', actor: 'temporal' })
        return { ended: null }
      }),
  }
}

function endingOf(
  { id, status, statusReason: reason, statusMessage: message, modelName, generation: newest }: TrainingJob,
  generation: number,
): JobEnding | null {
  if (newest !== generation)
    return {
      status: 'FAILED',
      reason: 'superseded',
      message: `A later resume of job ${id} has taken over.`,
      modelName: null,
    }
  switch (status) {
    case 'COMPLETED':
    case 'PARTIALLY COMPLETED':
    case 'CANCELLED':
    case 'FAILED':
      return { status, reason, message, modelName }
    case 'CREATED':
    case 'QUEUED':
    case 'LOADING DATA':
    case 'TRAINING MODEL':
    case 'SAVING MODEL':
    case 'EVALUATING MODEL':
      return null
  }
}
