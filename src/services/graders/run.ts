import { graderOf } from '../../domain/eval-criteria.ts'
import { textParts } from '../../domain/eval-run.ts'
import { verdictOf } from '../../domain/eval-verdict.ts'
import type { FineTuningGrader, SingleGrader } from '../../domain/fine-tuning-grader.ts'
import { FormulaError, parseFormula } from '../../domain/formula.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { cosine } from '../../grading/cosine.ts'
import type { Filled } from '../../grading/fill-criteria.ts'
import type { Ctx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'
import { validateGrader } from './validate.ts'

type Judge = Extract<SingleGrader, { model: string }>

/** Why a reward is 0 although no grader gave 0. */
export type GraderProblem =
  'formula' | 'missing part' | 'sample is no JSON' | 'judge without a verdict' | 'judge refused' | 'no score'

type Outcome = {
  reward: number
  problem: GraderProblem | null
  details?: string
  model?: string
  tokens: number
}

/** `outcomes`: by the name of each grader that scored the sample. */
export type GraderRun = {
  reward: number
  problems: GraderProblem[]
  details: string | null
  outcomes: Record<string, Outcome>
}

/** Asks a model as a chat request does. `refusal`: the sentence of a model that cannot answer. */
export type Ask = (body: object) => Promise<{ text: string; tokens: number } | { refusal: string }>

type Input = { grader: FineTuningGrader; item: Record<string, unknown>; modelSample: string }

/**
 * Scores one sample. What the item or the sample lacks is a problem of the run, not an error.
 * @throws ServiceError model_not_found, invalid_input, unavailable, quota_exceeded
 */
export async function runGrader({
  ctx,
  input: { grader, item, modelSample },
  ask,
  signal,
}: {
  ctx: Ctx
  input: Input
  ask: Ask
  signal: AbortSignal
}): Promise<GraderRun> {
  const usable = await validateGrader({ ctx, input: { grader } })
  const graders = usable.map((each) => each.grader)
  const { filled, isJson } = await ctx.deps.grading.fillSample(
    ctx.accountId,
    { graders, item, sample: modelSample },
    signal,
  )
  const scored = await Promise.all(
    usable.map(async ({ name, grader: single }, at) => {
      const texts = filled[at] as Filled
      return [name, await score({ ctx, grader: single, texts, isJson, ask, signal })] as const
    }),
  )
  const outcomes = Object.fromEntries(scored)
  const all = scored.map(([, outcome]) => outcome)
  const combined = grader.type === 'multi' ? combine(grader, outcomes) : { reward: all[0]?.reward ?? 0, problem: null }
  return {
    reward: combined.reward,
    problems: [...all, combined].flatMap(({ problem }) => problem ?? []),
    details: all.find(({ details }) => details !== undefined)?.details ?? null,
    outcomes,
  }
}

function combine(grader: Extract<FineTuningGrader, { type: 'multi' }>, outcomes: Record<string, Outcome>) {
  const rewards = Object.fromEntries(Object.entries(outcomes).map(([name, { reward }]) => [name, reward]))
  try {
    return { reward: parseFormula(grader.calculate_output, Object.keys(rewards))(rewards), problem: null }
  } catch (error) {
    if (error instanceof FormulaError) return { reward: 0, problem: 'formula' as const }
    throw error
  }
}

type ToScore = { ctx: Ctx; grader: SingleGrader; texts: Filled; isJson: boolean; ask: Ask; signal: AbortSignal }

async function score({ ctx, grader, texts, isJson, ask, signal }: ToScore): Promise<Outcome> {
  if ('unfilled' in texts) {
    if (!texts.isMissing) throw invalidInput('grader', texts.unfilled)
    const isUnparsed = /\{\{sample\.output_json\b/.test(texts.unfilled) && !isJson
    return { reward: 0, problem: isUnparsed ? 'sample is no JSON' : 'missing part', tokens: 0 }
  }
  if ('body' in texts) return judged(grader as Judge, texts.body, ask)
  const found = await compared(ctx, grader as Exclude<SingleGrader, Judge>, texts, signal)
  return { reward: found ?? 0, problem: found === null ? 'no score' : null, tokens: 0 }
}

async function compared(
  ctx: Ctx,
  grader: Exclude<SingleGrader, Judge>,
  { output, expected }: { output: string; expected: string },
  signal: AbortSignal,
): Promise<number | null> {
  const ours = graderOf(grader)
  if (ours.type !== 'embedding_similarity') {
    const graded = [{ input: '', expected, output }]
    const [column] = await ctx.deps.grading.score(ctx.accountId, { graders: [ours], graded }, signal)
    return column?.[0] ?? null
  }
  // An empty answer is like nothing.
  if (output.trim() === '') return 0
  const texts = [output, expected].map((text) => text.trim() || ' ')
  const [left, right] = await createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  return left && right ? cosine(left, right) : null
}

async function judged(judge: Judge, body: object, ask: Ask): Promise<Outcome> {
  const { model } = judge
  const answer = await ask(body)
  if ('refusal' in answer) return { reward: 0, problem: 'judge refused', details: answer.refusal, model, tokens: 0 }
  const { score: verdict } = verdictOf(judge, textParts(answer.text).output_json)
  const problem = verdict === null ? 'judge without a verdict' : null
  return { reward: verdict ?? 0, problem, model, tokens: answer.tokens }
}
