import { FormulaError, parseFormula } from '../../domain/formula.ts'
import type { ItemGrader, Reward } from '../../domain/item-grader.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { scoreFilled, type Found, type ScoreProblem, type Scoring } from '../../grading/score.ts'
import type { Ctx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'
import { validateGrader } from './validate.ts'

/** Why a reward is 0 although no grader gave 0. */
export type GraderProblem = ScoreProblem | 'formula'

/** `model`: the one that was asked, with the tokens that it took. */
type Outcome = { reward: number; model?: string; tokens: number }

/** `outcomes`: by the name of each grader that scored the sample. `details`: the sentence of a judge that refused. */
export type GraderRun = {
  reward: number
  problems: GraderProblem[]
  details: string | null
  outcomes: Record<string, Outcome>
}

/** Asks models that judge, as requests of chats do. */
export type Ask = NonNullable<Scoring['ask']>

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
  ask: Ask
  signal: AbortSignal
}): Promise<GraderRun> {
  const { accountId, deps } = ctx
  const graders = await validateGrader({ ctx, input: reward })
  const items = Buffer.from(JSON.stringify([{ item, sample: { output_text: modelSample } }]))
  const toFill = { graders: graders.map(([, grader]) => grader), items, answers: null, start: 0, from: 0 }
  const { columns } = await deps.grading.fillChunk(accountId, toFill, signal)
  for (const filled of columns.flat())
    if ('problem' in filled && filled.problem === 'too long') throw invalidInput('grader', filled.error)
  const embed: Scoring['embed'] = (texts) => createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  const scoring = { accountId, grading: deps.grading, ask, embed }
  const found = await Promise.all(
    graders.map(([, grader], at) => scoreFilled(scoring, { grader, filled: columns[at] ?? [], start: 0 }, signal)),
  )
  return rewarded(
    reward,
    graders.map(([name, grader], at) => ({ name, grader, found: found[at]?.[0] as Found })),
  )
}

function rewarded({ formula }: Reward, scored: { name: string; grader: ItemGrader; found: Found }[]): GraderRun {
  const rewards = Object.fromEntries(scored.map(({ name, found }) => [name, found.score ?? 0]))
  const failed = scored.flatMap(({ found }) => (found.score === null ? [found] : []))
  const combined = formula === null ? (Object.values(rewards)[0] ?? 0) : combine(formula, rewards)
  return {
    reward: combined ?? 0,
    problems: [...failed.map(({ problem }) => problem), ...(combined === null ? ['formula' as const] : [])],
    details: failed.find(({ problem }) => problem === 'judge refused')?.error ?? null,
    outcomes: Object.fromEntries(scored.map(({ name, ...each }) => [name, outcomeOf(each)])),
  }
}

/** Null where the formula gives no finite number. */
function combine(formula: string, rewards: Record<string, number>): number | null {
  try {
    return parseFormula(formula, Object.keys(rewards))(rewards)
  } catch (error) {
    if (error instanceof FormulaError) return null
    throw error
  }
}

const outcomeOf = ({ grader, found: { score, tokens } }: { grader: ItemGrader; found: Found }): Outcome => ({
  reward: score ?? 0,
  ...(grader.type === 'judge' && tokens !== undefined && { model: grader.model }),
  tokens: tokens ?? 0,
})
