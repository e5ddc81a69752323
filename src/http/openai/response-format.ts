// The shape that an answer must have: OpenAI's response_format, and structured_outputs as vLLM names its parts.
import { z } from 'zod'
import type { SentSchema } from '../../domain/answer-schema/read-schemas.ts'
import type { GrammarShape, SchemaShape } from '../../domain/answer-shape.ts'
import { Schema, schemaOfFormat, type ResponseFormat } from '../../domain/response-format.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { keepsEmpty } from '../kit/empty-fields.ts'
import { unsupported } from './unsupported-params.ts'

const longestGrammar = 100_000
/** The engine refuses a longer regex. */
const longestChoices = 262_144
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
    choice: z
      .array(z.string().min(1))
      .min(1)
      .max(1000)
      .refine((texts) => texts.reduce((sum, { length }) => sum + length, 0) <= longestChoices, {
        error: `must have at most ${longestChoices} characters together`,
      })
      .nullish()
      .describe('The answer is one of these texts'),
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
  response_format?: ResponseFormat | null | undefined
  structured_outputs?: z.output<typeof StructuredOutputs> | null | undefined
}

/** Its schema has not been read yet. */
export type SentShape = SchemaShape<SentSchema> | GrammarShape

/** @returns null for text. @throws ServiceError invalid_input */
export function shapeOf({ response_format: format, structured_outputs: outputs }: Asked): SentShape | null {
  const schema = format ? schemaOfFormat(format, 'response_format') : null
  const byFormat: SentShape | null = schema && { kind: 'schema', schema }
  const byOutputs = outputs ? shapeOfOutputs(outputs) : null
  if (byFormat && byOutputs)
    throw invalidInput(
      'structured_outputs',
      'structured_outputs and response_format exclude each other: send one of them.',
    )
  return byFormat ?? byOutputs
}

function shapeOfOutputs(outputs: z.output<typeof StructuredOutputs>): SentShape {
  const { json, json_object: isObject, regex, choice, grammar } = outputs
  const kinds = [json, isObject || null, regex, choice, grammar].filter((value) => (value ?? null) !== null)
  if (kinds.length !== 1)
    throw invalidInput(
      'structured_outputs',
      'structured_outputs must have exactly one of json, json_object, regex, choice and grammar.',
    )
  if (isObject)
    return { kind: 'schema', schema: { at: 'response_format', schema: { type: 'object', additionalProperties: true } } }
  if (json) return { kind: 'schema', schema: { at: 'structured_outputs.json', schema: json } }
  if (choice) return { kind: 'regex', regex: `(${choice.map(literal).join('|')})` }
  if (regex) return { kind: 'regex', regex }
  return { kind: 'grammar', grammar: grammar ?? '' }
}

const literal = (text: string) => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
