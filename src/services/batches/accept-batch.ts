import { inferenceBatchWorkflowId } from '../../domain/inference-batch.ts'
import type { NewBatch } from '../../repositories/inference-batches.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import type { Answer } from '../idempotency.ts'
import { requireRoomForBatch } from './require-room.ts'

/**
 * Commits the row of a batch, whose items are stored, with its start message. Removes the items when that fails.
 * @throws ServiceError quota_exceeded
 */
export async function acceptBatch(ctx: Ctx, batch: NewBatch, answer: Answer<{ id: string }>): Promise<{ id: string }> {
  const { id, itemCount, promptsKey } = batch
  try {
    return await ctx.deps.database.transaction(async (tx) => {
      await tx.accounts.hold(ctx.accountId)
      await requireRoomForBatch(ctx, tx, itemCount)
      await tx.inferenceBatches.create(batch)
      const workflowId = inferenceBatchWorkflowId(id)
      await tx.outbox.add({ workflowId, kind: 'start-batch', generation: 1, payload: { batchId: id } })
      await recordAudit(tx, ctx, 'batch.create', id)
      return answer(tx, { id })
    })
  } catch (error) {
    // If the commit did happen without an answer, the batch fails with a message, never half.
    await ctx.deps.storage.remove([promptsKey]).catch(() => undefined)
    throw error
  }
}
