import type { NewBatch } from '../../repositories/inference-batches.ts'
import type { Ctx } from '../context.ts'
import { acceptWork } from '../durable-work/accept.ts'
import type { Answer } from '../idempotency.ts'
import { storeThenCommit } from '../store-then-commit.ts'
import { requireRoomForBatch } from './require-room.ts'

type Accepted = {
  batch: NewBatch
  /** Stores the items under the batch's `promptsKey`. */
  storeItems: () => Promise<unknown>
  answer: Answer<{ id: string }>
}

/** Stores the items of a batch, then commits its row, which waits for a turn. @throws ServiceError quota_exceeded */
export function acceptBatch(ctx: Ctx, { batch, storeItems, answer }: Accepted): Promise<{ id: string }> {
  const { id, itemCount, promptsKey } = batch
  return storeThenCommit(ctx.deps, {
    key: promptsKey,
    store: storeItems,
    async commit(tx) {
      await acceptWork(tx, ctx, {
        requireRoom: () => requireRoomForBatch(ctx, tx, itemCount),
        create: () => tx.inferenceBatches.create(batch),
        audit: { action: 'batch.create', target: id },
      })
      return answer(tx, { id })
    },
  })
}
