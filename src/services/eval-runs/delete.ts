import { isOpenEvaluation } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findRun } from './find.ts'

/** Deletes an ended run with its items. @throws ServiceError not_found, conflict while it is open */
export async function deleteRun({ ctx, input }: { ctx: Ctx; input: { evalId: string; id: string } }): Promise<void> {
  const { database, storage } = ctx.deps
  const { id, status, rowsKey } = await findRun({ ctx, input })
  if (isOpenEvaluation(status)) throw new ServiceError('conflict', 'The run has not ended. Cancel it first.')
  await database.transaction(async (tx) => {
    await tx.durableWork.remove('evaluation', [id])
    await recordAudit(tx, ctx, 'eval.run.delete', id)
  })
  // The daily sweep removes what is left when this fails.
  const warn = (error: unknown) => ctx.deps.log.warn({ err: error }, 'failed to remove items of runs')
  if (rowsKey !== null) await storage.remove([rowsKey]).catch(warn)
}
