import { folderOf } from '../../domain/durable-work.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { isModelId, parseCheckpointName, parseModelReference, withoutPrefix } from '../../domain/model-reference.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { isOpenExport } from '../../domain/model-export.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import { recordAudit } from '../audit/record.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'
import { findTunedModel, modelNotFound } from './find-tuned.ts'

/**
 * Deletes the model's bytes, then its rows: artifact, model and evaluation. The job and its other checkpoints stay. A
 * repeat finishes a request that was interrupted.
 * @throws ServiceError model_not_found, invalid_input for a base model or a name that may move, conflict while its job runs,
 *   an alias leads to the model, an export of it is open, or an open job begins from it
 */
export async function deleteModel({ ctx, input }: { ctx: Ctx; input: { name: string } }) {
  const { database, storage } = ctx.deps
  refuseCheckpoint(input.name)
  const { name, jobId, artifactId } = await findTunedModel(ctx, input.name)
  refuseMovingName(input.name)
  return database.transaction(async (tx) => {
    const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
    if (job && !isTerminal(job.status))
      throw new ServiceError('conflict', `Job ${jobId}, which made this model, is ${job.status}. Cancel it first.`)
    await refuseAliased(tx, ctx.accountId, name)
    const child = await tx.trainingJobs.openJobFrom(ctx.accountId, name)
    if (child !== null)
      throw new ServiceError('conflict', `Job ${child} begins from this model. Wait until it ends, or cancel it first.`)
    const exports = await tx.modelExports.listOf(ctx.accountId, name)
    if (exports.some(({ status }) => isOpenExport(status)))
      throw new ServiceError('conflict', 'An export of this model is open. Wait until it ends.')
    // Objects first: after a crash the rows still name what is left. They are only a few.
    const published = await storage.removeFolder(storageKeys.model(ctx.accountId, name, ''))
    const saved = await storage.removeFolder(storageKeys.artifact(jobId, artifactId, ''))
    for (const { id } of exports) await storage.removeFolder(folderOf({ kind: 'export', id }, ctx.accountId))
    await tx.durableWork.remove(
      'export',
      exports.map(({ id }) => id),
    )
    if (!(await tx.models.delete({ accountId: ctx.accountId, name, artifactId }))) throw modelNotFound(name)
    await recordAudit(tx, ctx, 'model.delete', name)
    return { name, objects: published + saved }
  })
}

function refuseCheckpoint(name: string) {
  if (parseCheckpointName(name))
    throw invalidInput('name', `"${name}" is a checkpoint. Retention removes it with those that its job does not keep.`)
}

/** Such a name leads to another model after the deletion, so a repeat would delete that one too. */
function refuseMovingName(asked: string) {
  const { name, tag } = parseModelReference(withoutPrefix(asked))
  if (isModelId(name) || (tag && 'version' in tag)) return
  throw invalidInput('name', `"${asked}" is a name that moves. Name the version to delete, as in "${name}@1", or its id.`)
}

async function refuseAliased(tx: Repositories, accountId: string, modelName: string) {
  const given = await tx.modelNames.versionOf(modelName)
  if (!given) return
  await tx.modelNames.lock(accountId, given.name)
  const [alias] = (await tx.modelNames.aliases(accountId, given.name)).filter(({ version }) => version === given.version)
  if (alias)
    throw new ServiceError(
      'conflict',
      `The alias "${alias.alias}" leads to ${given.name}@${given.version}. Move or delete the alias first.`,
    )
}
