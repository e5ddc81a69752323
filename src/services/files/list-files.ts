import type { Ctx } from '../context.ts'
import { findFile, type StoredFile } from './find-file.ts'

/** @throws ServiceError not_found when `after` is not a file of the account */
export async function listFiles({
  ctx,
  input: { after, limit, isOldestFirst },
}: {
  ctx: Ctx
  input: { after?: string | undefined; limit: number; isOldestFirst: boolean }
}): Promise<{ files: StoredFile[]; hasMore: boolean }> {
  const last = after === undefined ? null : await findFile({ ctx, input: { fileId: after } })
  const page = { after: last?.id ?? null, limit: limit + 1, isOldestFirst }
  const files = await ctx.deps.database.datasets.listFiles(ctx.accountId, page)
  return { files: files.slice(0, limit), hasMore: files.length > limit }
}
