import type { ItemGrader, Reward } from '../../domain/item-grader.ts'
import type { Ctx } from '../context.ts'
import { completionModel } from '../evaluations/create.ts'

/**
 * Finds the models that judge.
 * @returns the graders, with the models that their names mean now
 * @throws ServiceError model_not_found, invalid_input for a model that cannot judge
 */
export async function validateGrader({
  ctx,
  input: { graders, formula },
}: {
  ctx: Ctx
  input: Reward
}): Promise<{ name: string; grader: ItemGrader }[]> {
  const usable = []
  for (const [name, grader] of Object.entries(graders)) {
    const path = formula === null ? 'grader.model' : `grader.graders.${name}.model`
    if (grader.type !== 'judge') usable.push({ name, grader })
    else usable.push({ name, grader: { ...grader, model: await completionModel(ctx, grader.model, path) } })
  }
  return usable
}
