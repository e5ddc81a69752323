import type { RequestBatch } from '../../domain/inference-batch.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findRequestBatch } from './find-request-batch.ts'

/**
 * Begins no further line. Lines that are being answered end first, so the workflow needs no message: its next chunks find
 * nothing to do. A repeat gets the same answer.
 * @throws ServiceError not_found, conflict when the batch has ended otherwise
 */
export async function cancelRequestBatch({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { batchId: string }
}): Promise<RequestBatch> {
  const { id } = await findRequestBatch({ ctx, input })
  const isCancelled = await ctx.deps.database.transaction(async (tx) => {
    const isOurs = await tx.requestBatches.requestEnd(id, 'cancelled', null)
    if (isOurs) await recordAudit(tx, ctx, 'batch.cancel', id)
    return isOurs
  })
  const batch = await findRequestBatch({ ctx, input })
  if (!isCancelled && batch.endReason !== 'cancelled')
    throw new ServiceError('conflict', 'The batch has ended, so it cannot be cancelled.')
  return batch
}
