import { isOpenEvaluation } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { endByCancel } from '../durable-work/cancel.ts'
import { findRun, type EvalRun } from './find.ts'

/** Ends an open run; a repeat does nothing. @throws ServiceError not_found, conflict after another end */
export async function cancelRun({ ctx, input }: { ctx: Ctx; input: { evalId: string; id: string } }): Promise<EvalRun> {
  await findRun({ ctx, input })
  await endByCancel(ctx, { kind: 'evaluation', id: input.id })
  const run = await findRun({ ctx, input })
  if (run.status !== 'CANCELLED' && !isOpenEvaluation(run.status))
    throw new ServiceError('conflict', 'The run has ended, so it cannot be cancelled.')
  return run
}
