// OpenAI parameters that this service does not have. Neutral values are accepted; values that would change the answer are refused.
import { z } from 'zod'

const error = 'is not supported'

/** The schemas of parameters that change nothing. */
const without = new WeakSet<z.ZodType>()

export function withoutEffect<T extends z.ZodType>(schema: T): T {
  without.add(schema)
  return schema
}

/** Whether a model honours the parameter of a request. */
export const isHonoured = (schema: z.ZodType) => !without.has(schema)

/** Absent, null, or one of these values. */
export const only = (...values: readonly (string | number | boolean)[]) =>
  withoutEffect(
    z
      .literal(values, {
        error: `must be ${values.map((value) => JSON.stringify(value)).join(' or ')}: no other value is supported`,
      })
      .nullish()
      .describe('Other values are not supported'),
  )

export const unsupported = () =>
  withoutEffect(z.null({ error }).optional().describe('Not supported: leave it out, or send null'))
export const onlyEmpty = {
  list: () =>
    withoutEffect(
      z
        .array(z.unknown(), { error })
        .max(0, { error })
        .nullish()
        .describe('Not supported: leave it out, or send an empty list'),
    ),
  map: () =>
    withoutEffect(
      z
        .record(z.string(), z.unknown(), { error })
        .refine((map) => Object.keys(map).length === 0, { error })
        .meta({ maxProperties: 0 })
        .nullish()
        .describe('Not supported: leave it out, or send an empty object'),
    ),
}

/** Accepted and ignored. */
export const ignoredText = () => withoutEffect(z.string().max(1024).nullish().describe('Accepted and ignored'))
