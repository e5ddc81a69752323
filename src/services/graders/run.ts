import { parseFormula } from '../../domain/formula.ts'
import type { ItemGrader, Reward } from '../../domain/item-grader.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { scoreFilled, type Found, type Scoring } from '../../grading/score.ts'
import type { Ctx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'
import { validateGrader } from './validate.ts'

/** `reward`: null where the formula has no finite number. A grader without a score counts as 0. */
export type GraderRun = { reward: number | null; scored: { name: string; grader: ItemGrader; found: Found }[] }

type Input = { reward: Reward; item: Record<string, unknown>; modelSample: string }

/**
 * Scores one sample. What the item or the sample lacks is a problem of the run, not an error.
 * @throws ServiceError model_not_found, invalid_input, unavailable, quota_exceeded
 */
export async function runGrader({
  ctx,
  input: { reward, item, modelSample },
  ask,
  signal,
}: {
  ctx: Ctx
  input: Input
  ask: NonNullable<Scoring['ask']>
  signal: AbortSignal
}): Promise<GraderRun> {
  const { accountId, deps } = ctx
  const names = Object.keys(reward.graders)
  const graders = await validateGrader({ ctx, input: reward })
  const items = Buffer.from(JSON.stringify([{ item, sample: { output_text: modelSample } }]))
  const toFill = { graders, items, answers: null, start: 0, from: 0 }
  const { columns } = await deps.grading.fillChunk(accountId, toFill, signal)
  for (const filled of columns.flat())
    if ('problem' in filled && filled.problem === 'too long') throw invalidInput('grader', filled.error)
  const embed: Scoring['embed'] = (texts) => createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  const scoring = { accountId, grading: deps.grading, ask, embed }
  const scored = await Promise.all(
    graders.map(async (grader, at) => {
      const [found] = await scoreFilled(scoring, { grader, filled: columns[at] ?? [], start: 0 }, signal)
      return { name: names[at] as string, grader, found: found as Found }
    }),
  )
  const rewards = Object.fromEntries(scored.map(({ name, found }) => [name, found.score ?? 0]))
  const formula = reward.formula === null ? null : parseFormula(reward.formula, names)
  return { reward: formula ? formula(rewards) : (Object.values(rewards)[0] ?? 0), scored }
}
