import { inferenceBatchWorkflowId } from '../../domain/inference-batch.ts'
import type { NewBatch } from '../../repositories/inference-batches.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import type { Answer } from '../idempotency.ts'
import { storeThenCommit } from '../store-then-commit.ts'
import { requireRoomForBatch } from './require-room.ts'

type Accepted = {
  batch: NewBatch
  /** Stores the items under the batch's `promptsKey`. */
  storeItems: () => Promise<unknown>
  answer: Answer<{ id: string }>
}

/** Stores the items of a batch, then commits its row with its start message. @throws ServiceError quota_exceeded */
export function acceptBatch(ctx: Ctx, { batch, storeItems, answer }: Accepted): Promise<{ id: string }> {
  const { id, itemCount, promptsKey } = batch
  return storeThenCommit(ctx.deps, {
    key: promptsKey,
    store: storeItems,
    async commit(tx) {
      await tx.accounts.hold(ctx.accountId)
      await requireRoomForBatch(ctx, tx, itemCount)
      await tx.inferenceBatches.create(batch)
      const workflowId = inferenceBatchWorkflowId(id)
      await tx.outbox.add({ workflowId, kind: 'start-batch', generation: 1, payload: { batchId: id } })
      await recordAudit(tx, ctx, 'batch.create', id)
      return answer(tx, { id })
    },
  })
}
