// Asks for answers of random schemas. An independent validator (ajv) reads each answer as a client does.
import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { leastBytes } from '../../../src/domain/answer-schema/least-bytes.ts'
import { readSchema } from '../../../src/domain/answer-schema/read-schema.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import { certain } from '../../../src/inference/answer-grammar/write-grammar.ts'
import type { Inference } from '../../../src/inference/inference.ts'
import { askedPrompts } from './asked-prompts.ts'
import { askedSchema } from './asked-schema.ts'
import { createRandom } from './random.ts'
import { randomSchema } from './random-schemas.ts'

type Asked = { inference: Inference; baseModel: CatalogueEntry; seed: number; prompts: string[]; signal: AbortSignal }

/** @returns the numbers of valid answers, of answers that a limit cut, and whether the schema was refused by its path */
export async function answerRandomSchema({ inference, baseModel, seed, prompts, signal }: Asked) {
  const random = createRandom(seed)
  const schema = randomSchema(random)
  const about = `seed ${seed}, ${baseModel.name}: ${JSON.stringify(schema)}`
  const read = readOrRefuse(schema, about)
  if (!read) return { valid: 0, cut: 0, isRefused: true }
  const sampling = { temperature: random.pick([0, 0.7, 1, 2]), topP: 1, seed }
  const maxTokens = random.pick([null, null, 200, 60])
  // Every fourth schema is worked on in a thread, as if it were large.
  const answer = { kind: 'schema' as const, schema: askedSchema(schema, { isLarge: seed % 4 === 0 }), maxTokens }
  const asked = { ...askedPrompts(baseModel, prompts, { sampling, signal }), answer }
  const { outputs, finishReasons } = await inference.complete(asked).catch((error: unknown) => {
    if (isForBudget(error)) return { outputs: [], finishReasons: [] }
    throw new Error(about, { cause: error })
  })
  const accepts = validatorOf(schema)
  // The grammar's budget is rounded down by up to a fifth, and one token is for the end.
  const sure = (leastBytes(read, certain)[read.root] ?? Infinity) * 1.25 + 1
  for (const [at, { output }] of outputs.entries()) {
    // A model with random weights may spell byte by byte: no answer is sure to fit in fewer tokens.
    if (finishReasons[at] === 'length') assert.ok(maxTokens !== null && maxTokens < sure, `cut, ${about}`)
    else assert.ok(accepts(JSON.parse(output as string)), `${output as string} is not of ${about}`)
  }
  const cut = finishReasons.filter((reason) => reason === 'length').length
  return { valid: outputs.length - cut, cut, isRefused: false }
}

/** @returns null for a schema that is refused by the path of what is not supported */
export function readOrRefuse(schema: object, about: string) {
  try {
    return readSchema(schema, 'schema')
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'invalid_input', about)
    assert.match(error.issues[0]?.path ?? '', /^schema#(\/|$)/, about)
    return null
  }
}

export const isForBudget = (error: unknown) =>
  error instanceof ServiceError && /max_tokens must be at least/.test(error.message)

export function validatorOf(schema: object): (value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false })
  // Ajv divides, and the quotient of a large number is inexact: 621621221221.43 / 0.01 is no whole number.
  ajv.removeKeyword('multipleOf')
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', validate: isMultipleOf })
  ;(addFormats as unknown as (to: Ajv2020) => void)(ajv)
  const validate = ajv.compile(schema)
  return (value) => validate(value)
}

function isMultipleOf(step: number, value: number): boolean {
  const quotient = value / step
  return Math.abs(quotient - Math.round(quotient)) <= Math.max(1e-6, Math.abs(quotient) * 2 * Number.EPSILON)
}
