import { fineTuneWorkflowId } from '../domain/identifiers.ts'
import { invalidInput } from '../domain/service-error.ts'
import { isTerminal } from '../domain/training-job-status.ts'
import type { TrainingJob } from '../domain/training-job.ts'
import type { Repositories } from '../repositories/database.ts'
import { recordAudit, type AuditOrigin } from './audit.ts'
import type { Ctx } from './context.ts'
import { jobNotFound } from './get-training-job.ts'

/**
 * Accepts the intent; the job reads CANCELLED once everything of it is released. A repeat changes nothing.
 * @throws ServiceError not_found, invalid_input for a job that ended otherwise
 */
export async function cancelTrainingJob({
  ctx,
  input: { jobId },
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<void> {
  await ctx.deps.database.transaction(async (tx) => {
    const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
    if (!job) throw jobNotFound(jobId)
    if (job.status === 'CANCELLED') return
    if (!isTerminal(job.status)) return void (await requestCancel(tx, ctx, job))
    throw invalidInput('job_id', `Job ${jobId} is ${job.status} and can no longer be cancelled.`)
  })
}

/** Of a job whose row the transaction holds. @returns false when that was accepted before */
export async function requestCancel(
  tx: Repositories,
  by: AuditOrigin,
  { id: jobId, generation }: Pick<TrainingJob, 'id' | 'generation'>,
): Promise<boolean> {
  if (!(await tx.trainingJobs.requestCancel(jobId, 'Cancel accepted; releasing what runs.'))) return false
  await tx.jobEvents.add(jobId, { kind: 'command', reason: 'cancel', actor: `key:${by.apiKeyId}` })
  await tx.outbox.add({ workflowId: fineTuneWorkflowId(jobId), kind: 'cancel', generation, payload: { jobId } })
  await recordAudit(tx, by, 'job.cancel', jobId)
  return true
}
