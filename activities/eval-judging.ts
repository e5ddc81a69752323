// Applies the criteria of an eval to the samples of one chunk.
import { graderOf, isJudge, passes, type EvalCriterion, type Judge } from '../src/domain/eval-criteria.ts'
import type { CriterionResult, EvalItem, JudgedItem } from '../src/domain/eval-run.ts'
import { judgeRequest, verdictOf, type Found } from '../src/domain/eval-verdict.ts'
import { filled, MissingPart, type TemplateValues } from '../src/domain/item-template.ts'
import type { ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { chatSamples, type Sampled } from './eval-samples.ts'
import { createScoring, type ScoringDependencies } from './evaluation-scores.ts'
import { answerLines } from './request-lines.ts'

type Asker = Pick<ModelEvaluation, 'id' | 'accountId' | 'apiKeyId'>

/** Samples and judges are asked by lines of a batch. */
export const endpoint = '/v1/chat/completions' as const
const notScored = 'The criterion has no score for this item.'

export function createJudging(criteria: readonly EvalCriterion[], deps: ScoringDependencies, asker: Asker) {
  /**
   * Judges items whose first has the position `start`. An item without a sample has no results.
   * @throws ServiceError and other errors of a model that judges
   */
  return async (items: readonly EvalItem[], samples: readonly Sampled[], start: number, signal: AbortSignal) => {
    const values = items.map(({ item }, at) => ({ item, sample: samples[at]?.sample ?? null }))
    const columns: Found[][] = []
    for (const criterion of criteria)
      columns.push(
        isJudge(criterion) ? await asked(criterion, values, start, signal) : await compared(criterion, values, signal),
      )
    return samples.map(({ sample, error }, at): JudgedItem => {
      const results = error === null ? criteria.map((each, column) => resultOf(each, columns[column]?.[at])) : []
      const scores = Object.fromEntries(results.map(({ name, score }) => [name, score]))
      return { output: sample?.output_text ?? null, error, sample, results, scores }
    })
  }

  async function compared(
    criterion: Exclude<EvalCriterion, Judge>,
    values: readonly TemplateValues[],
    signal: AbortSignal,
  ): Promise<Found[]> {
    const texts = values.map((each) =>
      attempt(() => ({ output: filled(criterion.input, each), expected: filled(criterion.reference, each) })),
    )
    const grader = { ...graderOf(criterion), name: 'criterion' }
    const rows = texts.map((text) => ({ input: '', expected: 'missing' in text ? '' : text.expected }))
    const answers = texts.map((text) =>
      'missing' in text ? { output: null, error: text.missing } : { output: text.output, error: null },
    )
    const { accountId, apiKeyId } = asker
    const scored = await createScoring([grader], deps, { accountId, apiKeyId })(rows, answers, signal)
    return scored.map(({ scores, error }) => {
      const score = scores['criterion'] ?? null
      return score === null ? { score, error: error ?? notScored } : { score }
    })
  }

  async function asked(criterion: Judge, values: readonly TemplateValues[], start: number, signal: AbortSignal) {
    const lines = values.map((each, at) => attempt(() => judgeLine(criterion, each, start + at)))
    const items = lines.flatMap((line) => ('missing' in line ? [] : line.text))
    const batch = { ...asker, request: { endpoint } }
    const { values: answered, errors = '' } = await answerLines(deps.infer, batch, { start, items, signal })
    const samples = chatSamples({ values: answered, errors }, { start, count: values.length })
    return lines.map((line, at): Found => {
      if ('missing' in line) return { score: null, error: line.missing }
      const { sample, error } = samples[at] as Sampled
      return error === null ? verdictOf(criterion, sample.output_json) : { score: null, error }
    })
  }
}

function resultOf(criterion: EvalCriterion, found: Found = { score: null, error: notScored }): CriterionResult {
  const { name, type } = criterion
  return { name, type, ...found, passed: found.score !== null && passes(criterion, found.score) }
}

function judgeLine(judge: Judge, values: TemplateValues, index: number): { text: string } {
  const body = judgeRequest(judge, values)
  return { text: JSON.stringify({ custom_id: String(index), method: 'POST', url: endpoint, body }) }
}

function attempt<T extends object>(work: () => T): T | { missing: string } {
  try {
    return work()
  } catch (error) {
    if (error instanceof MissingPart) return { missing: `The item lacks a part: ${error.message}.` }
    throw error
  }
}
