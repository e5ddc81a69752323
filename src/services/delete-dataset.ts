import { isDatasetId } from '../domain/dataset-id.ts'
import { ServiceError } from '../domain/service-error.ts'
import { recordAudit } from './audit.ts'
import type { Ctx } from './context.ts'
import { noDataset } from './find-dataset.ts'

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
  const { database, storage } = ctx.deps
  const versions = isDatasetId(datasetId) ? await database.datasets.versions(ctx.accountId, datasetId) : []
  if (versions.length === 0) throw noDataset()
  for (const { id } of versions) {
    const jobId = await database.datasets.unpreparedJob(id)
    if (jobId !== null)
      throw new ServiceError('conflict', `Job ${jobId} is still reading this data set: try again in a moment.`)
  }
  await recordAudit(database, ctx, 'data.delete', datasetId)
  for (const { id, uploadKey } of versions) {
    // The object first: when we die in between, the row still leads here.
    await storage.remove([uploadKey])
    if (!(await database.datasets.removeUnused(id))) await database.datasets.hide(id)
  }
  return { deleted: versions.length }
}
