// Schemas for parameters of paths and queries, which arrive as text.
import { z } from 'zod'

/** A name in a path. Refuses NUL, which Postgres cannot hold. */
export const pathText = (maxCharacters: number) =>
  z
    .string()
    .max(maxCharacters)
    .refine((text) => !text.includes('\0'))

/** A query parameter. A repeated one arrives as a list and is refused. */
export const queryText = () =>
  z
    .string({ error: ({ input }) => (Array.isArray(input) ? 'must be given only once' : undefined) })
    .refine((text) => !text.includes('\0'), 'must not contain NUL characters')

export function queryInt({ min, max }: { min: number; max: number }) {
  const error = `must be a whole number from ${min} to ${max}, in digits`
  return queryText()
    .regex(/^\d{1,16}$/, error)
    .transform(Number)
    .refine((value) => value >= min && value <= max, error)
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined })
}

export const queryFlag = () =>
  queryText()
    .pipe(z.enum(['true', 'false']))
    .transform((text) => text === 'true')
    .meta({ type: 'boolean', enum: undefined })
