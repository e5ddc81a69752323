// The shape that an answer must have: OpenAI's response_format, and structured_outputs as vLLM names its parts.
import { z } from 'zod'
import type { AnswerShape } from '../../domain/answer-shape.ts'
import { anyObject, readSchema } from '../../domain/answer-schema/read-schema.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { keepsEmpty } from '../framework/empty-fields.ts'
import { unsupported } from './unsupported-params.ts'

const Schema = z.record(z.string(), z.unknown()).describe('A JSON schema; what is not supported is refused by its path')

export const ResponseFormat = z.strictObject({
  type: z
    .enum(['text', 'json_object', 'json_schema'])
    .describe('The kind of answer: free text, any JSON object, or JSON of a schema'),
  json_schema: z
    .strictObject({
      name: z.string().max(64).describe('A name for the schema; not used'),
      description: z.string().nullish().describe('Accepted and ignored'),
      schema: Schema.describe('The JSON schema of the answer; what is not supported is refused by its path'),
      strict: z.boolean().nullish().describe('Accepted: the answer always fits the schema'),
    })
    .nullish()
    .describe('The schema of the answer, for json_schema'),
})

const longestGrammar = 100_000
const grammarText = z.string().min(1).max(longestGrammar)

export const StructuredOutputs = z
  .strictObject({
    json: keepsEmpty(
      z
        .union([Schema, z.string().transform(schemaIn)], { error: 'must be a JSON schema, or its text' })
        .nullish()
        .describe('The answer is JSON of this schema'),
    ),
    json_object: z.boolean().nullish().describe('true: the answer is any JSON object'),
    regex: grammarText.nullish().describe('The answer matches this regex'),
    choice: z.array(z.string().min(1)).min(1).max(1000).nullish().describe('The answer is one of these texts'),
    grammar: grammarText.nullish().describe("The answer is of this grammar, in Lark's syntax as llguidance reads it"),
    disable_any_whitespace: z.boolean().nullish().describe('Accepted: answers have no white space between values'),
    disable_additional_properties: z.boolean().nullish().describe('Accepted: answers have the named properties only'),
    whitespace_pattern: unsupported(),
    structural_tag: unsupported(),
  })
  .describe("One of vLLM's kinds of structured output")

/** A text that is no object is refused as the schema would be. */
function schemaIn(text: string, context: z.RefinementCtx<string>): Record<string, unknown> {
  try {
    return Schema.parse(JSON.parse(text))
  } catch {
    context.addIssue({ code: 'custom', message: 'must be a JSON schema, or its text' })
    return z.NEVER
  }
}

type Asked = {
  response_format?: z.output<typeof ResponseFormat> | null | undefined
  structured_outputs?: z.output<typeof StructuredOutputs> | null | undefined
}

/** @returns null for text. @throws ServiceError invalid_input naming the part of the schema */
export function shapeOf({ response_format: format, structured_outputs: outputs }: Asked): AnswerShape | null {
  const byFormat = format ? shapeOfFormat(format) : null
  const byOutputs = outputs ? shapeOfOutputs(outputs) : null
  if (byFormat && byOutputs)
    throw invalidInput(
      'structured_outputs',
      'structured_outputs and response_format exclude each other: send one of them.',
    )
  return byFormat ?? byOutputs
}

function shapeOfFormat({ type, json_schema: named }: z.output<typeof ResponseFormat>): AnswerShape | null {
  if (type === 'text') return null
  if (type === 'json_object') return { kind: 'schema', schema: anyObject() }
  if (!named) throw invalidInput('response_format.json_schema', 'response_format.json_schema is required.')
  return { kind: 'schema', schema: readSchema(named.schema, 'response_format.json_schema.schema') }
}

function shapeOfOutputs(outputs: z.output<typeof StructuredOutputs>): AnswerShape {
  const { json, json_object: isObject, regex, choice, grammar } = outputs
  const kinds = [json, isObject || null, regex, choice, grammar].filter((value) => (value ?? null) !== null)
  if (kinds.length !== 1)
    throw invalidInput(
      'structured_outputs',
      'structured_outputs must have exactly one of json, json_object, regex, choice and grammar.',
    )
  if (isObject) return { kind: 'schema', schema: anyObject() }
  if (json) return { kind: 'schema', schema: readSchema(json, 'structured_outputs.json') }
  if (choice) return { kind: 'regex', regex: `(${choice.map(literal).join('|')})` }
  if (regex) return { kind: 'regex', regex }
  return { kind: 'grammar', grammar: grammar ?? '' }
}

const literal = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
