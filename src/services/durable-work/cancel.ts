import type { ListedKind } from '../../domain/durable-work.ts'
import { batchCancelled } from '../../domain/inference-batch.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findWork, rowsOfKind } from './find.ts'

type Listed = { kind: ListedKind; id: string }

/**
 * Ends open work and its batches. What is done for it afterwards does not count and ends soon. A repeat does nothing.
 * @throws ServiceError not_found, invalid_input after another end
 */
export async function cancelWork({ ctx, input }: { ctx: Ctx; input: Listed }): Promise<void> {
  await findWork(ctx, input)
  await endByCancel(ctx, input)
  const { status } = await findWork(ctx, input)
  if (status !== 'CANCELLED')
    throw invalidInput('id', `The ${input.kind} ${input.id} is ${status} and can no longer be cancelled.`)
}

/** Does nothing to work that has ended. The caller has found it among the work of the account. */
export async function endByCancel(ctx: Ctx, { kind, id }: Listed): Promise<void> {
  await ctx.deps.database.transaction(async (tx) => {
    const batchIds = await rowsOfKind(tx, kind).end(id, 'CANCELLED', null)
    if (!batchIds) return
    // Otherwise the reaper starts a batch that nobody wants.
    for (const batchId of batchIds) await tx.inferenceBatches.fail(batchId, batchCancelled)
    await tx.durableWork.cancel({ kind, id })
    await recordAudit(tx, ctx, `${kind}.cancel`, id)
  })
}
