// Scores of the answers of one chunk: by functions, and by models where a grader asks one.
import { graderName, type Grader, type GraderOf, type ScoredAnswer } from '../src/domain/grader.ts'
import type { EvaluatedRow, ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { filledCharacters } from '../src/domain/item-template.ts'
import { asksModel, type AskingGrader, type Graded } from '../src/grading/compile-graders.ts'
import type { Grading } from '../src/grading/grading-threads.ts'
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

/** `grading` scores answers by the graders that are functions. */
export type ScoringDependencies = { infer: Infer; grading: Pick<Grading, 'score' | 'fillChunk'> }

export function createScoring(graders: readonly Grader[], { infer, grading }: ScoringDependencies, asker: Asker) {
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
    const columns = await grading.score(asker.accountId, { graders: [...graders], graded }, signal)
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
    const values = Array.from({ length: most + 1 }, (_, value) => value)
    const outputType = [{ name: 'score', type: { kind: 'enum', values } as const }]
    const input = { ...asker, modelName, outputType, ...noSampling }
    const scores: Score[] = []
    for (const prompts of groupsOf(all.map((graded) => partsOf(prompt, { ...graded, max_score: String(most) })))) {
      // Far longer than any model reads: not worth the memory.
      if (prompts.some((parts) => charactersIn(parts) > filledCharacters)) {
        scores.push(null)
        continue
      }
      const { answers } = await answerOthers({ start: 0, itemCount: prompts.length })(async (positions) => {
        const asked = { ...input, prompts: positions.map((position) => (prompts[position] as string[]).join('')) }
        return (await infer.complete(asked, signal)).outputs
      })
      for (const answer of answers) scores.push(typeof answer?.['score'] === 'number' ? answer['score'] / most : null)
    }
    return scores
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

const noSampling = {
  dataId: null,
  specialTokens: true,
  maxTokens: null,
  temperature: 0,
  topP: null,
  seed: null,
  stop: [],
}

/** The parts of a prompt: copies of nothing, however often a long text is named. */
const partsOf = (template: string, values: Record<string, string>): string[] =>
  template
    .split(/\{(input|expected|output|max_score)\}/)
    .map((part, at) => (at % 2 === 0 ? part : (values[part] ?? '')))

const charactersIn = (parts: readonly string[]) => parts.reduce((sum, { length }) => sum + length, 0)

/** Prompts that are held at once. One that is too long is alone in its group. */
function* groupsOf(prompts: readonly string[][]): Generator<string[][]> {
  let group: string[][] = []
  let characters = 0
  for (const parts of prompts) {
    characters += charactersIn(parts)
    if (group.length > 0 && characters > filledCharacters) {
      yield group
      group = []
      characters = charactersIn(parts)
    }
    group.push(parts)
  }
  if (group.length > 0) yield group
}
