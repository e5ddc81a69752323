// Asks for calls of random functions. An independent validator (ajv) reads the arguments as a client does.
import assert from 'node:assert/strict'
import type { CatalogueEntry } from '../../../src/domain/catalogue.ts'
import type { ReadCall } from '../../../src/domain/tools/call-reader.ts'
import type { Inference } from '../../../src/inference/inference.ts'
import { isForBudget, readOrRefuse, validatorOf } from './answer-schemas.ts'
import { askedPrompts } from './asked-prompts.ts'
import { askedSchema } from './asked-schema.ts'
import { createRandom } from './random.ts'
import { randomSchema } from './random-schemas.ts'

type Asked = { inference: Inference; baseModel: CatalogueEntry; seed: number; prompts: string[]; signal: AbortSignal }

/** @returns the numbers of valid calls, of answers without a call, of answers that a limit cut, and of refused functions */
export async function callRandomFunctions({ inference, baseModel, seed, prompts, signal }: Asked) {
  const random = createRandom(seed)
  const offered = random.list(1 + random.below(3), () => randomSchema(random))
  const about = `seed ${seed}, ${baseModel.name}: ${JSON.stringify(offered)}`
  // Every fourth set is worked on in a thread, as if it were large.
  const isLarge = seed % 4 === 0
  const functions = offered.flatMap((parameters, index) => {
    const schema = readOrRefuse(parameters, about)
    return schema ? [{ name: `call-${index}_f`, parameters, schema: askedSchema(parameters, { isLarge }) }] : []
  })
  const sum = { calls: 0, texts: 0, cut: 0, refused: offered.length - functions.length }
  const isRequired = random.below(2) === 0
  const mayBeSeveral = random.below(2) === 0
  const sampling = { temperature: random.pick([0, 0.7, 1, 2]), topP: 1, seed }
  const maxTokens = random.pick([null, 200])
  if (functions.length === 0) return sum
  const accepts = new Map(functions.map(({ name, parameters }) => [name, validatorOf(parameters)]))
  for (const content of prompts) {
    const { outputs, finishReasons } = await inference
      .complete({
        ...askedPrompts(baseModel, [], { sampling, signal }),
        input: {
          kind: 'chat',
          chats: [
            {
              messages: [{ role: 'user', content }],
              tools: functions.map(({ name, parameters }) => ({ name, parameters })),
              text: '',
            },
          ],
        },
        answer: { kind: 'calls', functions, isRequired, mayBeSeveral, content: null, maxTokens },
      })
      .catch((error: unknown) => {
        if (isForBudget(error)) return { outputs: [], finishReasons: [] }
        throw new Error(about, { cause: error })
      })
    const calls = (outputs[0]?.['calls'] ?? []) as unknown as ReadCall[]
    if (finishReasons[0] === 'length') {
      sum.cut++
      continue
    }
    assert.ok(outputs.length === 0 || !isRequired || calls.length > 0, `no call, ${about}`)
    assert.ok(mayBeSeveral || calls.length < 2, `several calls, ${about}`)
    for (const { name, arguments: text } of calls) {
      const isValid = accepts.get(name) ?? assert.fail(`${name} is no function of ${about}`)
      assert.ok(isValid(JSON.parse(text)), `${text} is not of ${name}, ${about}`)
    }
    sum.calls += calls.length
    sum.texts += Number(outputs.length > 0 && calls.length === 0)
  }
  return sum
}
