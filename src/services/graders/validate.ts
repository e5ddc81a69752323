import type { ItemGrader, Reward } from '../../domain/item-grader.ts'
import type { PythonProgram } from '../../domain/python-grader.ts'
import type { Ctx } from '../context.ts'
import { pinJudges } from '../evaluations/create.ts'

/**
 * Finds the models that judge, and loads the programs of Python graders.
 * @returns the graders in their order, with the models that their names mean now
 * @throws ServiceError model_not_found, invalid_input for a model that cannot judge or a program that cannot be loaded
 */
export async function validateGrader({
  ctx,
  input: { graders, formula },
}: {
  ctx: Ctx
  input: Reward
}): Promise<ItemGrader[]> {
  const names = Object.keys(graders)
  const pathOf = (at: number) => (formula === null ? 'grader' : `grader.graders.${names[at]}`)
  await checkPrograms(ctx, Object.values(graders), pathOf)
  return pinJudges(ctx, Object.values(graders), (at) => `${pathOf(at)}.model`)
}

/** @param pathOf the place of a grader in the request. @throws ServiceError invalid_input */
export async function checkPrograms(
  { deps, accountId }: Ctx,
  graders: readonly { type: string }[],
  pathOf: (at: number) => string,
): Promise<void> {
  const programs = graders.flatMap((grader, at) => (isProgram(grader) ? [{ grader, path: pathOf(at) }] : []))
  await deps.grading.python.check(accountId, programs)
}

const isProgram = (grader: { type: string }): grader is PythonProgram & { type: 'python' } => grader.type === 'python'
