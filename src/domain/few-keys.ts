import { z } from 'zod'
import { withoutPrototype } from './without-prototype.ts'

/** Counts the keys of a map before each is looked at, which takes microseconds. */
export const fewKeys = <Schema extends z.ZodType>(most: number, what: string, schema: Schema) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= most) return value
    context.addIssue({ code: 'custom', message: `must have at most ${most} ${what}` })
    return z.NEVER
  }, schema)

const maxKeywords = 1000

/** Its parts are read later: see readSchemas. */
export const jsonSchema = withoutPrototype(fewKeys(maxKeywords, 'keywords', z.record(z.string(), z.unknown())))
