import type { Eval } from '../../domain/eval-run.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

export const noEval = () => new ServiceError('not_found', 'There is no such eval.')

/** Finds an eval of the account. @throws ServiceError not_found */
export async function findEval({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<Eval> {
  const found = await ctx.deps.database.evals.find(ctx.accountId, id)
  if (!found) throw noEval()
  return found
}
