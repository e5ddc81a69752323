import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { noEval } from './find.ts'

/** Deletes an eval with its runs. @throws ServiceError not_found, conflict while a run is open */
export async function deleteEval({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<void> {
  const { database, storage } = ctx.deps
  const keys = await database.transaction(async (tx) => {
    if (!(await tx.evals.hold(ctx.accountId, id))) throw noEval()
    const runs = await tx.modelEvaluations.listRunKeys(id)
    if (runs.openIds.length > 0)
      throw new ServiceError(
        'conflict',
        'The eval has runs that have not ended. Cancel them first, or wait for their end.',
      )
    await tx.evals.remove(id)
    await recordAudit(tx, ctx, 'eval.delete', id)
    return runs.keys
  })
  // The daily sweep removes what is left when this fails.
  await storage
    .remove(keys)
    .catch((error: unknown) => ctx.deps.log.warn({ err: error }, 'failed to remove items of runs'))
}
