import type { Eval } from '../../domain/eval-run.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findEval, noEval } from './find.ts'

type Change = { id: string; name: string | undefined; metadata: Eval['metadata'] | undefined }

/** Changes the name, the metadata or both; undefined leaves as is. @throws ServiceError not_found */
export async function updateEval({ ctx, input: { id, ...change } }: { ctx: Ctx; input: Change }): Promise<Eval> {
  await ctx.deps.database.transaction(async (tx) => {
    if (!(await tx.evals.update({ accountId: ctx.accountId, id }, change))) throw noEval()
    await recordAudit(tx, ctx, 'eval.update', id)
  })
  return findEval({ ctx, input: { id } })
}
