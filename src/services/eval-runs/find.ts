import type { EvalRunRequest } from '../../domain/eval-run.ts'
import type { ModelEvaluation } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

/** `spec`: what was asked for, as it was accepted. */
export type EvalRun = ModelEvaluation & { evalId: string; spec: EvalRunRequest }

export const noRun = () => new ServiceError('not_found', 'There is no such run of this eval.')

/** Finds a run of an eval of the account. @throws ServiceError not_found */
export async function findRun({
  ctx: { deps, accountId },
  input,
}: {
  ctx: Ctx
  input: { evalId: string; id: string }
}): Promise<EvalRun> {
  const found = await deps.database.modelEvaluations.findRun(accountId, input)
  if (!found) throw noRun()
  return asRun(found)
}

/** The caller has asked for runs only. */
export function asRun(evaluation: ModelEvaluation): EvalRun {
  const { evalId, request } = evaluation
  if (evalId === null || !request.run) throw noRun()
  return { ...evaluation, evalId, spec: request.run }
}
