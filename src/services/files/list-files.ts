import type { FilePurpose } from '../../domain/file-purpose.ts'
import type { Ctx } from '../context.ts'
import { findFile, type StoredFile } from './find-file.ts'

/** @throws ServiceError not_found when `after` is not a file of the account */
export async function listFiles({
  ctx,
  input: { after, limit, isOldestFirst, purpose = null },
}: {
  ctx: Ctx
  input: { after?: string | undefined; limit: number; isOldestFirst: boolean; purpose?: FilePurpose | null }
}): Promise<{ files: StoredFile[]; hasMore: boolean }> {
  const last = after === undefined ? null : await findFile({ ctx, input: { fileId: after } })
  const page = { after: last?.id ?? null, limit: limit + 1, isOldestFirst, purpose }
  const files = await ctx.deps.database.datasets.listFiles(ctx.accountId, page)
  return { files: files.slice(0, limit), hasMore: files.length > limit }
}
