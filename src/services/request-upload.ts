import { randomUUID } from 'node:crypto'
import { parseDatasetId } from '../domain/dataset-id.ts'
import { isUniqueViolation } from '../repositories/database.ts'
import type { DatasetVersion } from '../repositories/datasets.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { Ctx } from './context.ts'

/**
 * Where to upload a data set. The same id gives a fresh URL of the same version until a job uses it; then a new version opens.
 * @throws ServiceError invalid_input for an id outside of the alphabet
 */
export async function requestUpload({ ctx, input }: { ctx: Ctx; input: { datasetId: string } }) {
  const version = await openDatasetVersion(ctx, parseDatasetId(input.datasetId))
  return { datasetId: version.datasetId, url: await ctx.deps.storage.presignUpload(version.uploadKey) }
}

export async function openDatasetVersion(ctx: Ctx, datasetId: string): Promise<DatasetVersion> {
  const { datasets } = ctx.deps.database
  const newest = await datasets.newestVersion(ctx.accountId, datasetId)
  if (newest && !newest.usedAt) return newest
  const id = randomUUID()
  try {
    return await datasets.createVersion({
      id,
      accountId: ctx.accountId,
      datasetId,
      version: (newest?.version ?? 0) + 1,
      uploadKey: storageKeys.upload(ctx.accountId, datasetId, id),
    })
  } catch (error) {
    // Two requests opened the same version at once: the other's is as good.
    if (isUniqueViolation(error)) return openDatasetVersion(ctx, datasetId)
    throw error
  }
}
