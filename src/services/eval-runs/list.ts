import type { EvaluationStatus } from '../../domain/model-evaluation.ts'
import type { Ctx } from '../context.ts'
import { findEval } from '../evals/find.ts'
import { asRun, findRun, type EvalRun } from './find.ts'

type Page = {
  after: string | null
  limit: number
  isOldestFirst: boolean
  statuses: readonly EvaluationStatus[] | null
}

/** @throws ServiceError not_found for the eval, and when `after` is not a run of it */
export async function listRuns({
  ctx,
  input: { evalId, ...page },
}: {
  ctx: Ctx
  input: Page & { evalId: string }
}): Promise<{ runs: EvalRun[]; hasMore: boolean }> {
  await findEval({ ctx, input: { id: evalId } })
  if (page.after !== null) await findRun({ ctx, input: { evalId, id: page.after } })
  const { rows, hasMore } = await ctx.deps.database.modelEvaluations.listRuns(evalId, page)
  return { runs: rows.map(asRun), hasMore }
}
