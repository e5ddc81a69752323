import type { ItemGrader, Reward } from '../../domain/item-grader.ts'
import type { Ctx } from '../context.ts'
import { pinJudges } from '../evaluations/create.ts'

/**
 * Finds the models that judge.
 * @returns the graders in their order, with the models that their names mean now
 * @throws ServiceError model_not_found, invalid_input for a model that cannot judge
 */
export async function validateGrader({
  ctx,
  input: { graders, formula },
}: {
  ctx: Ctx
  input: Reward
}): Promise<ItemGrader[]> {
  const names = Object.keys(graders)
  const pathOf = (at: number) => (formula === null ? 'grader.model' : `grader.graders.${names[at]}.model`)
  return pinJudges(ctx, Object.values(graders), pathOf)
}
