import { isUuid } from '../../domain/identifiers.ts'
import type { ModelEvaluation } from '../../domain/model-evaluation.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

/** Lists evaluations, newest first. @throws ServiceError invalid_input */
export async function listEvaluations({
  ctx: { deps, accountId },
  input: { after = null, limit },
}: {
  ctx: Ctx
  input: { after?: string | null; limit: number }
}): Promise<{ evaluations: ModelEvaluation[]; next: string | null }> {
  const { modelEvaluations } = deps.database
  if (after !== null && !(isUuid(after) && (await modelEvaluations.find(accountId, after))))
    throw invalidInput('after', 'after must be the `next` of an earlier page.')
  const { rows, hasMore } = await modelEvaluations.list(accountId, { after, limit })
  return { evaluations: rows, next: hasMore ? (rows.at(-1)?.id ?? null) : null }
}
