import { storageKeys } from '../../domain/storage-keys.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findTunedModel, modelNotFound } from './find-tuned.ts'

/**
 * Deletes the model's bytes, then its rows: what was saved, what that was published as, what it answered in its evaluation.
 * The job stays, and so do its other checkpoints. A request that ended midway can be made again.
 * @throws ServiceError model_not_found, invalid_input for a base model, conflict while its job runs
 */
export async function deleteModel({ ctx, input: { name } }: { ctx: Ctx; input: { name: string } }) {
  const { database, storage } = ctx.deps
  const { jobId, artifactId } = await findTunedModel(ctx, name)
  return database.transaction(async (tx) => {
    const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
    if (job && !isTerminal(job.status))
      throw new ServiceError('conflict', `Job ${jobId}, which made this model, is ${job.status}: cancel it first.`)
    // A few objects. Were the rows gone first, nothing would know of bytes that a dying process left.
    const published = await storage.removeFolder(storageKeys.model(ctx.accountId, name, ''))
    const saved = await storage.removeFolder(storageKeys.artifact(jobId, artifactId, ''))
    if (!(await tx.models.delete({ accountId: ctx.accountId, name, artifactId }))) throw modelNotFound(name)
    await recordAudit(tx, ctx, 'model.delete', name)
    return { name, objects: published + saved }
  })
}
