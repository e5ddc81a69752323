import { readSchema } from '../../../src/domain/answer-schema/read-schema.ts'
import type { AskedSchema } from '../../../src/domain/answer-shape.ts'

/** A schema as a request brings it along. */
export const askedSchema = (schema: object, { isLarge = false } = {}): AskedSchema => ({
  at: 'schema',
  text: JSON.stringify(schema),
  parts: isLarge ? null : readSchema(schema, 'schema'),
})
