// OpenAI's response_format: the form of an answer.
import { z } from 'zod'
import type { SentSchema } from './answer-schema/read-schemas.ts'
import { jsonSchema } from './few-keys.ts'
import { invalidInput } from './service-error.ts'

export const Schema = jsonSchema.describe('A JSON schema; what is not supported is refused by its path')

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
export type ResponseFormat = z.output<typeof ResponseFormat>

/**
 * @param at the parameter that holds the format
 * @returns null for text
 * @throws ServiceError invalid_input
 */
export function schemaOfFormat({ type, json_schema: named }: ResponseFormat, at: string): SentSchema | null {
  if (type === 'text') return null
  if (type === 'json_object') return { at, schema: { type: 'object', additionalProperties: true } }
  if (!named) throw invalidInput(`${at}.json_schema`, `${at}.json_schema is required.`)
  return { at: `${at}.json_schema.schema`, schema: named.schema }
}
