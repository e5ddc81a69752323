// Parameters of OpenAI's that this service does not have: taken where they ask for nothing, refused by name where they would change the answer.
import { z } from 'zod'

const error = 'is not supported here'

/** Absent, null, or one of these values. */
export const only = (...values: readonly (string | number | boolean)[]) =>
  z
    .union(
      values.map((value) => z.literal(value)),
      { error: () => `${error}, but for ${values.map((value) => JSON.stringify(value)).join(' and ')}` },
    )
    .nullish()

export const unsupported = () => z.null({ error }).optional()
export const onlyEmpty = {
  list: () => z.array(z.unknown(), { error }).max(0, { error }).nullish(),
  map: () =>
    z
      .record(z.string(), z.unknown(), { error })
      .refine((map) => Object.keys(map).length === 0, { error })
      .meta({ maxProperties: 0 })
      .nullish(),
}

/** Said about a request, and nothing that changes its answer. */
export const remark = () => z.string().max(1024).nullish()
