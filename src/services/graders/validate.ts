import { isJudge, type EvalCriterion } from '../../domain/eval-criteria.ts'
import { singlesIn, type FineTuningGrader, type SingleGrader } from '../../domain/fine-tuning-grader.ts'
import type { Ctx } from '../context.ts'
import { completionModel } from '../evaluations/create.ts'

/** `name`: its key in a grader that combines others, else its own name. */
type UsableGrader = { name: string; grader: SingleGrader }

/**
 * Finds the models that a grader asks.
 * @returns the graders that score a sample, with the models that their names mean now
 * @throws ServiceError model_not_found, invalid_input for a model that cannot judge
 */
export async function validateGrader({
  ctx,
  input: { grader },
}: {
  ctx: Ctx
  input: { grader: FineTuningGrader }
}): Promise<UsableGrader[]> {
  const usable: UsableGrader[] = []
  for (const { path, grader: single } of singlesIn(grader)) {
    const name = path.at(-1) ?? single.name
    if (!isJudge(single as EvalCriterion)) usable.push({ name, grader: single })
    else {
      const judge = single as Extract<SingleGrader, { model: string }>
      const model = await completionModel(ctx, judge.model, ['grader', ...path, 'model'].join('.'))
      usable.push({ name, grader: { ...judge, model } })
    }
  }
  return usable
}
