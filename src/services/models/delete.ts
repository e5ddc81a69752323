import { storageKeys } from '../../domain/storage-keys.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findTunedModel, modelNotFound } from './find-tuned.ts'

/**
 * Deletes the model's bytes, then its rows: artifact, model and evaluation. The job and its other checkpoints stay. A
 * repeat finishes a request that was interrupted.
 * @throws ServiceError model_not_found, invalid_input for a base model, conflict while its job runs
 */
export async function deleteModel({ ctx, input }: { ctx: Ctx; input: { name: string } }) {
  const { database, storage } = ctx.deps
  const { name, jobId, artifactId } = await findTunedModel(ctx, input.name)
  return database.transaction(async (tx) => {
    const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
    if (job && !isTerminal(job.status))
      throw new ServiceError('conflict', `Job ${jobId}, which made this model, is ${job.status}. Cancel it first.`)
    // Objects first: after a crash the rows still name what is left. They are only a few.
    const published = await storage.removeFolder(storageKeys.model(ctx.accountId, name, ''))
    const saved = await storage.removeFolder(storageKeys.artifact(jobId, artifactId, ''))
    if (!(await tx.models.delete({ accountId: ctx.accountId, name, artifactId }))) throw modelNotFound(name)
    await recordAudit(tx, ctx, 'model.delete', name)
    return { name, objects: published + saved }
  })
}
