// Scores of the answers of one chunk: by functions, and by models where a grader asks one.
import { graderName, type Grader, type GraderOf } from '../src/domain/grader.ts'
import type { EvaluatedRow, ModelEvaluation, ScoredAnswer } from '../src/domain/model-evaluation.ts'
import { asksModel, type AskingGrader, type Graded } from '../src/grading/compile-graders.ts'
import type { Grade } from '../src/grading/grading-threads.ts'
import { similarities, textsToEmbed } from '../src/grading/similarity.ts'
import type { Infer } from './batch-answers.ts'
import { answerOthers } from './refused-items.ts'

export type Answer = { output: string | null; error: string | null }
type Asker = Pick<ModelEvaluation, 'accountId' | 'apiKeyId'>
type Score = number | null

const defaultMaxScore = 10
const defaultPrompt = [
  'Judge the answer to a question.\n\nQuestion:\n{input}\n\nReference answer:\n{expected}\n\nAnswer to judge:\n{output}\n\n',
  'Does the answer say the same as the reference? Give a whole number from 0 (wrong) to {max_score} (entirely right).\n',
].join('')

/** `grade` scores answers by the graders that are functions. */
export type ScoringDependencies = { infer: Infer; grade: Grade }

export function createScoring(graders: readonly Grader[], { infer, grade }: ScoringDependencies, asker: Asker) {
  const names = graders.map(graderName)

  /**
   * Scores rows and answers that belong together. A row that the model refused has no scores.
   * @throws ServiceError and other errors of a model that a grader asks
   */
  return async (rows: readonly EvaluatedRow[], answers: readonly Answer[], signal: AbortSignal) => {
    const answered = rows.flatMap(({ input, expected }, index) => {
      const output = answers[index]?.output ?? null
      return output === null ? [] : [{ index, graded: { input, expected, output } }]
    })
    const graded = answered.map((each) => each.graded)
    const columns = await grade(asker.accountId, { graders: [...graders], graded }, signal)
    for (const [at, grader] of graders.entries()) if (asksModel(grader)) columns[at] = await ask(grader, graded, signal)
    const place = new Map(answered.map(({ index }, at) => [index, at]))
    return answers.map((answer, index): ScoredAnswer => {
      const scoreOf = (column: number) => columns[column]?.[place.get(index) ?? -1] ?? null
      return { ...answer, scores: Object.fromEntries(names.map((name, column) => [name, scoreOf(column)])) }
    })
  }

  function ask(grader: AskingGrader, all: readonly Graded[], signal: AbortSignal): Promise<Score[]> {
    return grader.type === 'model' ? judge(grader, all, signal) : compareMeanings(all, signal)
  }

  async function judge(grader: GraderOf<'model'>, all: readonly Graded[], signal: AbortSignal): Promise<Score[]> {
    const { model: modelName, prompt = defaultPrompt, max_score: most = defaultMaxScore } = grader
    const prompts = all.map((graded) => filled(prompt, { ...graded, max_score: String(most) }))
    const values = Array.from({ length: most + 1 }, (_, value) => value)
    const outputType = [{ name: 'score', type: { kind: 'enum', values } as const }]
    const input = { ...asker, modelName, outputType, ...noSampling }
    const { answers } = await answerOthers({ start: 0, itemCount: prompts.length })(async (positions) => {
      const asked = { ...input, prompts: positions.map((position) => prompts[position] as string) }
      return (await infer.complete(asked, signal)).outputs
    })
    return answers.map((answer) => (typeof answer?.['score'] === 'number' ? answer['score'] / most : null))
  }

  /** A text that the embedder refuses has no score. */
  async function compareMeanings(all: readonly Graded[], signal: AbortSignal): Promise<Score[]> {
    const texts = textsToEmbed(all)
    const { answers } = await answerOthers({ start: 0, itemCount: texts.length })((positions) =>
      infer.embed(
        { ...asker, modelName: null, texts: positions.map((position) => texts[position] as string), onLong: 'refuse' },
        signal,
      ),
    )
    return similarities(all, answers)
  }
}

const noSampling = { dataId: null, maxTokens: null, temperature: 0, topP: null, seed: null, stop: [] }

const filled = (template: string, values: Record<string, string>) =>
  template.replace(/\{(input|expected|output|max_score)\}/g, (_whole, name: string) => values[name] ?? '')
