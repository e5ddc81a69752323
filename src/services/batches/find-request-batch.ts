import { isUuid } from '../../domain/identifiers.ts'
import type { RequestBatch } from '../../domain/inference-batch.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

/** Finds a batch of the account. @throws ServiceError not_found */
export async function findRequestBatch({
  ctx,
  input: { batchId },
}: {
  ctx: Ctx
  input: { batchId: string }
}): Promise<RequestBatch> {
  const batch = isUuid(batchId) ? await ctx.deps.database.requestBatches.find(ctx.accountId, batchId) : null
  if (!batch) throw new ServiceError('not_found', 'There is no such batch.')
  return batch
}
