import { ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'

/** A batch rarely ends sooner. */
const retryAfterSeconds = 30

/**
 * Exact in a transaction that holds the account; without one it spares the upload of what has no room.
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForBatch(
  { deps: { settings }, accountId }: Ctx,
  { inferenceBatches }: Pick<Repositories, 'inferenceBatches'>,
  itemCount: number,
) {
  const { maxOpenBatches, maxWaitingBatchItems } = settings
  const open = await inferenceBatches.openOf(accountId)
  if (open.batchCount >= maxOpenBatches)
    throw full(`This account has ${maxOpenBatches} open batches, the most that it may have. Wait until one ends.`)
  if (open.waitingItems + itemCount > maxWaitingBatchItems)
    throw full(
      `This account's open batches have ${open.waitingItems} unfinished items. With the ${itemCount} of this batch they would exceed the limit of ${maxWaitingBatchItems}. Wait until some items are done.`,
    )
}

const full = (message: string) => new ServiceError('quota_exceeded', message, { retryAfterSeconds })
