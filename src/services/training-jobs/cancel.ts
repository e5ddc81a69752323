import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import type { TrainingJob } from '../../domain/training-job.ts'
import type { Repositories } from '../../repositories/database.ts'
import { recordAudit, type AuditOrigin } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { jobNotFound } from './get.ts'

/**
 * Requests a cancel. The job becomes CANCELLED once its resources are released. A repeat changes nothing. A pause is a
 * cancel with the intent to resume; a later cancel ends that intent.
 * @throws ServiceError not_found, invalid_input for an ended job, conflict for a pause of a cancelled job
 */
export async function cancelTrainingJob({
  ctx,
  input: { jobId, isPause = false },
}: {
  ctx: Ctx
  input: { jobId: number; isPause?: boolean }
}): Promise<void> {
  await ctx.deps.database.transaction(async (tx) => {
    const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
    if (!job) throw jobNotFound(jobId)
    if (job.status !== 'CANCELLED' && isTerminal(job.status))
      throw invalidInput('job_id', `Job ${jobId} is ${job.status} and cannot be ${isPause ? 'paused' : 'cancelled'}.`)
    if (job.status !== 'CANCELLED' && !job.cancelRequestedAt)
      return void (await requestCancel(tx, ctx, job, { isPause }))
    if (isPause && !job.pauseRequestedAt)
      throw new ServiceError('conflict', `Job ${jobId} is cancelled and cannot be paused.`)
    if (!isPause && job.pauseRequestedAt) {
      await tx.trainingJobs.forgetPause(jobId)
      await note(tx, ctx, jobId, 'cancel')
    }
  })
}

/** The transaction must hold the job's row. @returns false when a cancel was requested before */
export async function requestCancel(
  tx: Repositories,
  by: AuditOrigin,
  { id: jobId, generation }: Pick<TrainingJob, 'id' | 'generation'>,
  { isPause = false }: { isPause?: boolean } = {},
): Promise<boolean> {
  const message = `${isPause ? 'Pausing' : 'Cancelling'} the job and releasing its resources.`
  if (!(await tx.trainingJobs.requestCancel(jobId, message, { isPause }))) return false
  await note(tx, by, jobId, isPause ? 'pause' : 'cancel')
  await tx.outbox.add({ workflowId: fineTuneWorkflowId(jobId), kind: 'cancel', generation, payload: { jobId } })
  return true
}

/** Tells the job's events and the audit trail who asked for it. */
async function note(tx: Repositories, by: AuditOrigin, jobId: number, verb: 'pause' | 'cancel') {
  await tx.jobEvents.add(jobId, { kind: 'command', reason: verb, actor: `key:${by.apiKeyId}` })
  await recordAudit(tx, by, `job.${verb}`, jobId)
}
