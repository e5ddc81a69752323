import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { cancelRequestBatch } from './cancel-request-batch.ts'
import type { DescribedBatch } from './describe-batches.ts'
import { findBatch, showBatch } from './show-batch.ts'

/**
 * Ends a batch of prompts or texts at once, without a result. A batch of requests ends when the lines that are being answered
 * have ended, and keeps them. A repeat gets the same answer.
 * @throws ServiceError not_found, conflict when the batch has ended otherwise
 */
export async function cancelBatch({ ctx, input }: { ctx: Ctx; input: { batchId: string } }): Promise<DescribedBatch> {
  const { id, kind } = await findBatch(ctx, input.batchId)
  if (kind === 'requests') await cancelRequestBatch({ ctx, input })
  else await endByCancel(ctx, id)
  const batch = await showBatch({ ctx, input })
  if (kind !== 'requests' && batch.status !== 'CANCELLED')
    throw new ServiceError('conflict', `The batch is ${batch.status}, so it cannot be cancelled.`)
  return batch
}

/** Chunks that are being answered are cancelled with the workflow; what they have come to counts nothing. */
const endByCancel = (ctx: Ctx, id: string) =>
  ctx.deps.database.transaction(async (tx) => {
    if (!(await tx.inferenceBatches.fail(id, 'The batch was cancelled.', 'cancelled'))) return
    await tx.durableWork.cancel({ kind: 'batch', id })
    await recordAudit(tx, ctx, 'batch.cancel', id)
  })
