import type { BatchStatus } from '../../domain/inference-batch.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { describeBatches, type DescribedBatch } from './describe-batches.ts'

/**
 * Lists a page of the account's batches, newest first. A page may have fewer batches than the limit before the last one.
 * @throws ServiceError invalid_input when `after` is not a batch of the account
 */
export async function listBatches({
  ctx,
  input: { after, limit, statuses },
}: {
  ctx: Ctx
  input: { after: string | null; limit: number; statuses: readonly BatchStatus[] | null }
}): Promise<{ batches: DescribedBatch[]; next: string | null }> {
  const { batchList, inferenceBatches } = ctx.deps.database
  if (after !== null && !(await inferenceBatches.exists(ctx.accountId, after)))
    throw invalidInput('after', 'after must be the `next` of an earlier page.')
  const { batches, next } = await batchList.list(ctx.accountId, { after, limit, statuses })
  return { batches: await describeBatches(ctx, batches), next }
}
