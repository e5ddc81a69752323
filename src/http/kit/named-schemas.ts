import { z } from 'zod'

/** Schemas with a name in the OpenAPI document. */
export const apiSchemas = z.registry<{ id: string }>()

/** Names a schema; by convention the constant and its type have the same name. */
export function named<T extends z.ZodType>(id: string, schema: T): T {
  apiSchemas.add(schema, { id })
  return schema
}
