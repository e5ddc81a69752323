import { z } from 'zod'
import type { OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { outputTypeOfSchema } from './json-schema.ts'

export const ResponseFormat = z.object({
  type: z.enum(['text', 'json_schema']),
  json_schema: z
    .object({
      name: z.string().max(64),
      description: z.string().nullish(),
      schema: z
        .record(z.string(), z.unknown())
        .describe('An object whose properties are strings, integers, numbers, booleans or enums'),
      strict: z.boolean().nullish(),
    })
    .nullish(),
})
type ResponseFormat = z.output<typeof ResponseFormat>

/** @returns null for text. @throws ServiceError invalid_input naming the part of the schema */
export function outputTypeOf(format: ResponseFormat | null | undefined): OutputType | null {
  if (!format || format.type === 'text') return null
  const schema = format.json_schema?.schema
  if (!schema) throw invalidInput('response_format.json_schema', 'response_format.json_schema is required.')
  return outputTypeOfSchema(schema, 'response_format.json_schema.schema')
}
