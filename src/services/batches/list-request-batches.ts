import type { RequestBatch } from '../../domain/inference-batch.ts'
import type { Ctx } from '../context.ts'
import { findRequestBatch } from './find-request-batch.ts'

/** Newest first. @throws ServiceError not_found when `after` is not a batch of the account */
export async function listRequestBatches({
  ctx,
  input: { after, limit },
}: {
  ctx: Ctx
  input: { after: string | null; limit: number }
}): Promise<{ batches: RequestBatch[]; hasMore: boolean }> {
  const last = after === null ? null : await findRequestBatch({ ctx, input: { batchId: after } })
  const { rows, hasMore } = await ctx.deps.database.requestBatches.list(ctx.accountId, {
    after: last?.id ?? null,
    limit,
  })
  return { batches: rows, hasMore }
}
