import { isDatasetId } from '../../domain/dataset-id.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { datasetNotFound } from './find.ts'

/**
 * All versions of a data set, with their objects. Jobs keep the copies they train on.
 * @throws ServiceError not_found, conflict while a job has not made its copy yet
 */
export async function deleteDataset({
  ctx,
  input: { datasetId },
}: {
  ctx: Ctx
  input: { datasetId: string }
}): Promise<{ deleted: number }> {
  if (!isDatasetId(datasetId)) throw datasetNotFound()
  const { database, storage, log } = ctx.deps
  // Hidden first, with every version held: no job is accepted on bytes that are about to go.
  const versions = await database.transaction(async (tx) => {
    const held = await tx.datasets.holdVersions(ctx.accountId, datasetId)
    if (held.length === 0) throw datasetNotFound()
    const jobId = await tx.datasets.unpreparedJob(held.map(({ id }) => id))
    if (jobId !== null)
      throw new ServiceError('conflict', `Job ${jobId} is still reading this data set: try again in a moment.`)
    for (const { id } of held) await tx.datasets.hide(id)
    await recordAudit(tx, ctx, 'data.delete', datasetId)
    return held
  })
  try {
    await storage.remove(versions.map(({ uploadKey }) => uploadKey))
    for (const { id } of versions) await database.datasets.removeUnused(id)
  } catch (error) {
    // Nobody can reach them any more.
    log.warn({ err: error, datasetId }, 'the objects of a deleted data set are left to the sweep')
  }
  return { deleted: versions.length }
}
