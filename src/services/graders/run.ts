import type { Reward } from '../../domain/item-grader.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { isReward, noReward, rewardOfScores, scoreSamples, type Scored } from '../../grading/reward.ts'
import type { Scoring } from '../../grading/score.ts'
import type { Ctx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'
import { validateGrader } from './validate.ts'

/** `reward`: null where the formula has no finite number. A grader without a score counts as 0. */
export type GraderRun = { reward: number | null; scored: Scored[] }

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
  const pinned = await validateGrader({ ctx, input: reward })
  const graders = Object.fromEntries(pinned.map((grader, at) => [names[at] as string, grader]))
  const embed: Scoring['embed'] = (texts) => createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  const scoring = { accountId, grading: deps.grading, ask, embed }
  const items = [{ item, sample: { output_text: modelSample } }]
  const [scored = []] = await scoreSamples(scoring, { graders }, items, signal)
  for (const { found } of scored)
    if (found.score === null && found.problem === 'too long') throw invalidInput('grader', found.error)
  const scores = Object.fromEntries(scored.map(({ name, found }) => [name, found.score ?? 0]))
  const value = rewardOfScores(reward, scores)
  if (value !== null && !isReward(value)) throw invalidInput('grader', noReward(scores))
  return { reward: value, scored }
}
