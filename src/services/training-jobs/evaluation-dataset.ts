import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import type { ReceivedRows } from '../datasets/ingest-rows.ts'
import { resolveDataset } from '../datasets/resolve.ts'

/** A data set in place of evaluation rows in the request. The job makes its own copy. @throws ServiceError invalid_input */
export async function findEvaluationRows(ctx: Ctx, datasetId: string): Promise<ReceivedRows> {
  const { id, uploadKey } = await resolve(ctx, datasetId)
  return { versionId: id, key: uploadKey, rowCount: 0, sizeBytes: 0, kept: 'yes' }
}

/** The request names the data set in another field than the one that `resolveDataset` reports. */
async function resolve(ctx: Ctx, datasetId: string) {
  try {
    return await resolveDataset(ctx, { datasetId, modelName: '' })
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_input')
      throw invalidInput('eval_dataset_id', error.message)
    throw error
  }
}
