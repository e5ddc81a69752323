import type { ListedBatch } from '../../domain/inference-batch.ts'
import type { Ctx } from '../context.ts'
import { describeBatches, type DescribedBatch } from './describe-batches.ts'
import { batchNotFound } from './get-batch-result.ts'

/** @throws ServiceError not_found */
export async function showBatch({ ctx, input }: { ctx: Ctx; input: { batchId: string } }): Promise<DescribedBatch> {
  const [described] = await describeBatches(ctx, [await findBatch(ctx, input.batchId)])
  if (!described) throw batchNotFound(input.batchId)
  return described
}

/** @throws ServiceError not_found */
export async function findBatch({ deps, accountId }: Ctx, batchId: string): Promise<ListedBatch> {
  const batch = await deps.database.batchList.find(accountId, batchId)
  if (!batch) throw batchNotFound(batchId)
  return batch
}
