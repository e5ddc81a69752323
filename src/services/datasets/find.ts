import { isDatasetId } from '../../domain/dataset-id.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'

/** Does not repeat the id, which may hold any characters. */
export const datasetNotFound = () => new ServiceError('not_found', 'There is no such data set.')

/** Finds the newest version of the account's data set. @throws ServiceError not_found */
export async function findDataset({
  ctx,
  input: { datasetId },
}: {
  ctx: Ctx
  input: { datasetId: string }
}): Promise<DatasetVersion & { location: string }> {
  const { database, storage } = ctx.deps
  const version = isDatasetId(datasetId) ? await database.datasets.newestVersion(ctx.accountId, datasetId) : null
  if (!version) throw datasetNotFound()
  return { ...version, location: storage.urlPrefix + version.uploadKey }
}
