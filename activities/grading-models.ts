// The models that graders of a worker ask.
import type { ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { endpoint } from '../src/grading/fill-templates.ts'
import type { Scoring } from '../src/grading/score.ts'
import type { Infer } from './batch-answers.ts'
import { answerOthers } from './refused-items.ts'
import { answerLines } from './request-lines.ts'

type Asker = Pick<ModelEvaluation, 'id' | 'accountId' | 'apiKeyId'>

/** Asks under the key of the evaluation. An item that its model refuses does not keep the others from their answers. */
export function gradingModels(
  infer: Infer,
  { id, accountId, apiKeyId }: Asker,
): Pick<Scoring, 'ask' | 'complete' | 'embed'> {
  const asker = { accountId, apiKeyId }
  return {
    ask: (items, start, signal) =>
      answerLines(infer, { id, ...asker, request: { endpoint } }, { start, items, signal }),

    async complete({ model: modelName, most }, prompts, signal) {
      const values = Array.from({ length: most + 1 }, (_, value) => value)
      const input = { ...asker, modelName, outputType: [{ name: 'score', type: { kind: 'enum', values } as const }] }
      const answers = await answersOf(prompts, async (given) => {
        const { outputs } = await infer.complete({ ...input, ...noSampling, prompts: given }, signal)
        return outputs
      })
      return answers.map((answer) => (typeof answer?.['score'] === 'number' ? answer['score'] : null))
    },

    embed: (texts, signal) =>
      answersOf(texts, (given) => infer.embed({ ...asker, modelName: null, texts: given, onLong: 'refuse' }, signal)),
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

/** Null for a text that the model refuses. */
async function answersOf<T>(texts: readonly string[], ask: (texts: string[]) => Promise<T[]>): Promise<(T | null)[]> {
  const at = (positions: readonly number[]) => positions.map((position) => texts[position] as string)
  return (await answerOthers({ start: 0, itemCount: texts.length })((positions) => ask(at(positions)))).answers
}
