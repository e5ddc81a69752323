import { isUuid } from '../../domain/identifiers.ts'
import type { ModelEvaluation } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

export const evaluationNotFound = (id: string) => new ServiceError('not_found', `There is no evaluation ${id}.`)

/** @throws ServiceError not_found */
export async function findEvaluation({ deps: { database }, accountId }: Ctx, id: string): Promise<ModelEvaluation> {
  const evaluation = isUuid(id) ? await database.modelEvaluations.find(accountId, id) : null
  if (!evaluation) throw evaluationNotFound(id)
  return evaluation
}
