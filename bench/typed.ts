// Typed answers of the engine alone, compared with untyped ones and with the JSON-schema mode of the library that
// constrains the decoding; time to compile grammars.
import { spawnSync } from 'node:child_process'
import { parseOutputType, type OutputType } from '../src/domain/output-type.ts'
import { allowedCharacters, comfortableBound, maxPromptTokens, tightBound } from '../src/inference/text-bounds.ts'
import { typedOutputRegex } from '../src/inference/typed-output.ts'
import { createRandom } from '../test/inference/support/random.ts'
import { randomFields } from '../test/inference/support/random-types.ts'
import { toolPath } from '../tools/paths.mjs'

const contextLength = 1024
const maxTokens = 16
const types = 300
const prompts = Array.from({ length: 64 }, (_, index) => `Question: What is product ${index}?\nAnswer: `)
const colours = ['red', 'white', 'blue']
const fields = parseOutputType({ colour: colours, price: 'int', weight: 'float', sold: 'bool', says: 'str' }) ?? []

const promptTokens = Math.max(...prompts.map(maxPromptTokens))
function boundOf(some: OutputType, tokens: number | null) {
  const allowed = allowedCharacters(some, tokens)
  const room = { contextLength, promptTokens }
  const bound = comfortableBound(some, allowed, room) ?? tightBound(some, allowed, room)
  if (!bound) throw new Error('the answer has no room')
  return bound
}

const bound = boundOf(fields, maxTokens)
const schema = {
  type: 'object',
  properties: {
    colour: { enum: colours },
    price: { type: 'integer' },
    weight: { type: 'number' },
    sold: { type: 'boolean' },
    says: { type: 'string', maxLength: bound.characters },
  },
  required: fields.map(({ name }) => name),
  additionalProperties: false,
}
const random = createRandom(1)
const grammars = random.list(types, () => {
  const some = randomFields(random)
  return typedOutputRegex(some, boundOf(some, random.pick([1, 16, null])))
})

const input = JSON.stringify({
  prompts,
  regex: typedOutputRegex(fields, bound),
  schema,
  max_tokens: bound.maxTokens,
  grammars,
})
const { status } = spawnSync(toolPath('python'), ['bench/typed.py'], { input, stdio: ['pipe', 'inherit', 'inherit'] })
process.exitCode = status ?? 1
