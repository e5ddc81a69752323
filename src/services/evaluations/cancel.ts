import { batchCancelled } from '../../domain/inference-batch.ts'
import { isOpenEvaluation } from '../../domain/model-evaluation.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findEvaluation } from './find.ts'

/**
 * Ends an open evaluation and its batches. Nothing that is answered or scored afterwards counts; the work for it ends soon after.
 * A repeat does nothing.
 * @throws ServiceError not_found, invalid_input after another end
 */
export async function cancelEvaluation({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<void> {
  await findEvaluation(ctx, id)
  await endByCancel(ctx, id)
  const { status } = await findEvaluation(ctx, id)
  if (status !== 'CANCELLED' && !isOpenEvaluation(status))
    throw invalidInput('id', `The evaluation ${id} is ${status} and can no longer be cancelled.`)
}

/** Does nothing to an evaluation that has ended. The caller has found it among those of the account. */
export async function endByCancel(ctx: Ctx, id: string): Promise<void> {
  await ctx.deps.database.transaction(async (tx) => {
    const batchIds = await tx.modelEvaluations.end(id, 'CANCELLED', null)
    if (!batchIds) return
    // Otherwise the reaper starts a batch that nobody wants.
    for (const batchId of batchIds) await tx.inferenceBatches.fail(batchId, batchCancelled)
    await tx.durableWork.cancel({ kind: 'evaluation', id })
    await recordAudit(tx, ctx, 'evaluation.cancel', id)
  })
}
