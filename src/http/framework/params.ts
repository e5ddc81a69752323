// Pieces of paths and queries, which arrive as text.
import { z } from 'zod'

/** A part of a path that is looked up as it is; no store holds a NUL. */
export const pathText = (maxCharacters: number) =>
  z
    .string()
    .max(maxCharacters)
    .refine((text) => !text.includes('\0'))

/** A query parameter; a repeated one arrives as a list. */
export const queryText = () =>
  z.string({ error: ({ input }) => (Array.isArray(input) ? 'must be given only once' : undefined) })

export function queryInt({ min, max }: { min: number; max: number }) {
  const error = `must be a whole number from ${min} to ${max}, in digits`
  return queryText()
    .regex(/^\d{1,16}$/, error)
    .transform(Number)
    .refine((value) => value >= min && value <= max, error)
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined })
}
