import { parseDatasetId } from '../../domain/dataset-id.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { keepRows, type ReceivedRows } from './ingest-rows.ts'

/**
 * Makes the rows of a request a new data set, or the newest version of the named one.
 * @throws ServiceError invalid_input
 */
export async function storeDataset({
  ctx,
  input: { datasetId, isPublic, rows },
  idempotency,
}: {
  ctx: Ctx
  input: { datasetId: string | undefined; isPublic: boolean; rows: ReceivedRows | null }
  idempotency: Idempotency
}): Promise<{ datasetId: string; location: string }> {
  const id = datasetId === undefined ? undefined : parseDatasetId(datasetId)
  if (!rows) throw invalidInput('data', 'data must hold at least one row.')
  return once<{ datasetId: string; location: string }>(ctx, idempotency, (answer) =>
    keepRows(ctx, rows, { datasetId: id, isPublic }, async (tx, version) => {
      await recordAudit(tx, ctx, 'data.upload', version.datasetId)
      return answer(tx, { datasetId: version.datasetId, location: ctx.deps.storage.urlPrefix + version.uploadKey })
    }),
  )
}
