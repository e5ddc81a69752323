import { isDatasetId } from '../../domain/dataset-id.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { datasetNotFound } from './find.ts'

/**
 * Deletes all versions of a data set with their objects. Jobs keep their own copies.
 * @throws ServiceError not_found, conflict while a job still copies the data
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
  // The locked and hidden versions accept no new jobs while their bytes are removed.
  const versions = await database.transaction(async (tx) => {
    const held = await tx.datasets.holdVersions(ctx.accountId, datasetId)
    if (held.length === 0) throw datasetNotFound()
    const jobId = await tx.datasets.unpreparedJob(held.map(({ id }) => id))
    if (jobId !== null)
      throw new ServiceError('conflict', `Job ${jobId} is still reading this data set. Try again in a moment.`)
    for (const { id } of held) await tx.datasets.hide(id)
    await recordAudit(tx, ctx, 'data.delete', datasetId)
    return held
  })
  try {
    await storage.remove(versions.map(({ uploadKey }) => uploadKey))
    for (const { id } of versions) await database.datasets.removeUnused(id)
  } catch (error) {
    // The data set is hidden already, so retention removes its objects later.
    log.warn({ err: error, datasetId }, 'failed to remove the objects of a deleted data set')
  }
  return { deleted: versions.length }
}
