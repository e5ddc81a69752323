import type { Eval } from '../../domain/eval-run.ts'
import type { Ctx } from '../context.ts'
import { findEval } from './find.ts'

type Page = { after: string | null; limit: number; isOldestFirst: boolean; sortedBy: 'createdAt' | 'updatedAt' }

/** @throws ServiceError not_found when `after` is not an eval of the account */
export async function listEvals({
  ctx,
  input,
}: {
  ctx: Ctx
  input: Page
}): Promise<{ evals: Eval[]; hasMore: boolean }> {
  const { after } = input
  const last = after === null ? null : await findEval({ ctx, input: { id: after } })
  const page = { ...input, after: last?.id ?? null }
  const { rows, hasMore } = await ctx.deps.database.evals.list(ctx.accountId, page)
  return { evals: rows, hasMore }
}
