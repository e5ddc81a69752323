// Scores answers: by functions in threads, by models that judge or embed, and by programs of users. The only place that scores, for requests, workers
// and rewards.
import { textParts } from '../domain/eval-run.ts'
import { graderName, type Grader, type GraderOf, type ScoredAnswer } from '../domain/grader.ts'
import type { ChunkResults } from '../domain/inference-batch.ts'
import type { ChatJudge, ItemGrader } from '../domain/item-grader.ts'
import type { EvaluatedRow } from '../domain/model-evaluation.ts'
import { verdictOf } from './chat-judge.ts'
import { isAsked, type Graded } from './compile-graders.ts'
import { chatSamples } from './eval-samples.ts'
import type { Filled, FillProblem } from './fill-templates.ts'
import type { Grading } from './grading-threads.ts'
import { judgeByPrompt, type Complete } from './prompt-judge.ts'
import { gradingRequest } from './python/request.ts'
import { compareMeanings, type Embed } from './similarity.ts'

/** How models are asked: without `ask` or `complete`, their graders give no score. Each throws when its model is away. */
export type Scoring = {
  accountId: string
  grading: Pick<Grading, 'score' | 'python'>
  /** Asks judges by lines of a batch of chats, of which the first has the position `start`. */
  ask?: (
    lines: readonly string[],
    start: number,
    signal: AbortSignal,
  ) => Promise<Pick<ChunkResults, 'values' | 'errors'>>
  complete?: Complete
  embed: Embed
}

type Score = number | null
type Answer = Pick<ScoredAnswer, 'output' | 'error'>
type Answers = { graders: readonly Grader[]; rows: readonly EvaluatedRow[]; answers: readonly Answer[] }

/**
 * Scores answers and rows that belong together. A row that the model refused has no scores.
 * @throws ServiceError invalid_input when the graders take too much time or memory, and errors of a model that a grader asks
 */
export async function scoreAnswers(
  scoring: Scoring,
  { graders, rows, answers }: Answers,
  signal: AbortSignal,
): Promise<ScoredAnswer[]> {
  const names = graders.map(graderName)
  const answered = rows.flatMap(({ input, expected }, index) => {
    const output = answers[index]?.output ?? null
    return output === null ? [] : [{ index, graded: { input, expected, output } }]
  })
  const graded = answered.map((each) => each.graded)
  const columns = await scoreTexts(scoring, graders, graded, signal)
  const place = new Map(answered.map(({ index }, at) => [index, at]))
  return answers.map((answer, index) => {
    const scoreOf = (column: number) => columns[column]?.[place.get(index) ?? -1] ?? null
    return { ...answer, scores: Object.fromEntries(names.map((name, column) => [name, scoreOf(column)])) }
  })
}

/** Why a grader has no score for an item. */
type ScoreProblem = FillProblem | 'judge refused' | 'judge without a verdict' | 'program failed' | 'no score'

/** The result of a grader for one item. `tokens`: those of the model that was asked, if there was one. */
export type Found = { tokens?: number } & (
  { score: number; label?: string } | { score: null; problem: ScoreProblem; error: string }
)

type FilledItems = { grader: ItemGrader; filled: readonly Filled[]; start: number }

/** Scores items whose texts are filled; the first has the position `start`. @throws as `scoreAnswers` */
export async function scoreFilled(
  scoring: Scoring,
  { grader, filled, start }: FilledItems,
  signal: AbortSignal,
): Promise<Found[]> {
  if (grader.type === 'judge') return judgeInChat(scoring, grader, { filled, start }, signal)
  if (grader.type === 'python') return runPrograms(scoring, grader, filled, signal)
  const graded = filled.flatMap((each) => ('output' in each ? [each] : []))
  const [column = []] = await scoreTexts(scoring, [grader], graded, signal)
  let at = 0
  return filled.map((each) => {
    if ('problem' in each) return { score: null, ...each }
    const score = column[at++] ?? null
    return score === null ? noScore('no score', 'The criterion has no score for this item.') : { score }
  })
}

async function judgeInChat(
  { ask }: Scoring,
  judge: ChatJudge,
  { filled, start }: Pick<FilledItems, 'filled' | 'start'>,
  signal: AbortSignal,
): Promise<Found[]> {
  const lines = filled.flatMap((each) => ('line' in each ? [each.line] : []))
  const answers = ask && lines.length > 0 ? await ask(lines, start, signal) : { values: '', errors: '' }
  const samples = chatSamples(answers, { start, count: filled.length })
  return filled.map((each, at): Found => {
    if ('problem' in each) return { score: null, ...each }
    const { sample, error } = samples[at] ?? { sample: null, error: '' }
    if (sample === null) return { ...noScore('judge refused', error), tokens: 0 }
    const found = verdictOf(judge, sample.output_json)
    const tokens = sample.usage?.total_tokens ?? 0
    return {
      ...(found ?? noScore('judge without a verdict', 'The judge ran out of tokens before its verdict.')),
      tokens,
    }
  })
}

async function runPrograms(
  { accountId, grading }: Scoring,
  grader: GraderOf<'python'>,
  filled: readonly Filled[],
  signal: AbortSignal,
): Promise<Found[]> {
  const samples = filled.flatMap((each) => ('request' in each ? [each.request] : []))
  const scores = (await grading.python.score(accountId, { grader, samples }, signal)).values()
  return filled.map((each): Found => {
    if ('problem' in each) return { score: null, ...each }
    const { value: found } = scores.next()
    return found && 'score' in found ? found : noScore('program failed', found?.error ?? '')
  })
}

const noScore = (problem: ScoreProblem, error: string) => ({ score: null, problem, error })

/** By grader: the score of each answer. */
async function scoreTexts(
  { accountId, grading, complete, embed }: Scoring,
  graders: readonly Grader[],
  graded: readonly Graded[],
  signal: AbortSignal,
): Promise<Score[][]> {
  const columns = graders.every(isAsked)
    ? graders.map((): Score[] => [])
    : await grading.score(accountId, { graders, graded }, signal)
  for (const [at, grader] of graders.entries())
    if (grader.type === 'embedding_similarity') columns[at] = await compareMeanings(graded, embed, signal)
    else if (grader.type === 'model' && complete) columns[at] = await judgeByPrompt(grader, graded, complete, signal)
    else if (grader.type === 'python') {
      const samples = graded.map(({ input, expected, output }) =>
        gradingRequest(textParts(output), { input, expected }),
      )
      const found = await grading.python.score(accountId, { grader, samples }, signal)
      columns[at] = found.map((each) => ('score' in each ? each.score : null))
    }
  return columns
}
