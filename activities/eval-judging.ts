// Applies the criteria of an eval to the samples of one chunk.
import { graderOf, isJudge, passes, type EvalCriterion, type Judge } from '../src/domain/eval-criteria.ts'
import type { CriterionResult, JudgedItem } from '../src/domain/eval-run.ts'
import { verdictOf, type Found } from '../src/domain/eval-verdict.ts'
import type { ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { chatSamples, type Sampled } from '../src/grading/eval-samples.ts'
import { endpoint, type ChunkToFill, type FilledLine } from '../src/grading/fill-criteria.ts'
import { createScoring, type ScoringDependencies } from './evaluation-scores.ts'
import { answerLines } from './request-lines.ts'

type Asker = Pick<ModelEvaluation, 'id' | 'accountId' | 'apiKeyId'>

const notScored = 'The criterion has no score for this item.'

export function createJudging(criteria: readonly EvalCriterion[], deps: ScoringDependencies, asker: Asker) {
  const { accountId, apiKeyId } = asker

  /**
   * Judges items whose first has the position `start`. An item without a sample has no results.
   * @throws ServiceError and other errors of a model that judges
   */
  return async (
    chunk: Pick<ChunkToFill, 'items' | 'answers' | 'start'>,
    signal: AbortSignal,
  ): Promise<JudgedItem[]> => {
    const judged: JudgedItem[] = []
    for (;;) {
      const from = judged.length
      const piece = await deps.grading.fillChunk(accountId, { ...chunk, criteria, from }, signal)
      const columns: Found[][] = []
      for (const [at, criterion] of criteria.entries())
        columns.push(await found(criterion, piece.columns[at] ?? [], chunk.start + from, signal))
      judged.push(
        ...piece.samples.map((sampled, at) => judgedItem(criteria, sampled, (column) => columns[column]?.[at])),
      )
      if (piece.isLast) return judged
    }
  }

  function found(criterion: EvalCriterion, filled: readonly FilledLine[], start: number, signal: AbortSignal) {
    return isJudge(criterion) ? asked(criterion, filled, start, signal) : compared(criterion, filled, signal)
  }

  async function compared(
    criterion: Exclude<EvalCriterion, Judge>,
    filled: readonly FilledLine[],
    signal: AbortSignal,
  ): Promise<Found[]> {
    const grader = { ...graderOf(criterion), name: 'criterion' }
    const rows = filled.map((texts) => ({ input: '', expected: 'expected' in texts ? texts.expected : '' }))
    const answers = filled.map((texts) =>
      'output' in texts
        ? { output: texts.output, error: null }
        : { output: null, error: 'unfilled' in texts ? texts.unfilled : notScored },
    )
    const scored = await createScoring([grader], deps, { accountId, apiKeyId })(rows, answers, signal)
    return scored.map(({ scores, error }) => {
      const score = scores['criterion'] ?? null
      return score === null ? { score, error: error ?? notScored } : { score }
    })
  }

  async function asked(criterion: Judge, filled: readonly FilledLine[], start: number, signal: AbortSignal) {
    const items = filled.flatMap((texts) => ('line' in texts ? [texts.line] : []))
    const batch = { ...asker, request: { endpoint } }
    const { values: answered, errors } = await answerLines(deps.infer, batch, { start, items, signal })
    const samples = chatSamples({ values: answered, errors }, { start, count: filled.length })
    return filled.map((texts, at): Found => {
      if ('unfilled' in texts) return { score: null, error: texts.unfilled }
      const { sample, error } = samples[at] as Sampled
      return error === null ? verdictOf(criterion, sample.output_json) : { score: null, error }
    })
  }
}

function judgedItem(
  criteria: readonly EvalCriterion[],
  { sample, error }: Sampled,
  foundOf: (column: number) => Found | undefined,
): JudgedItem {
  const results = error === null ? criteria.map((each, column) => resultOf(each, foundOf(column))) : []
  const scores = Object.fromEntries(results.map(({ name, score }) => [name, score]))
  return { output: sample?.output_text ?? null, error, sample, results, scores }
}

function resultOf(criterion: EvalCriterion, found: Found = { score: null, error: notScored }): CriterionResult {
  const { name, type } = criterion
  return { name, type, ...found, passed: found.score !== null && passes(criterion, found.score) }
}
