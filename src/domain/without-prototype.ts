import { z } from 'zod'

/** Refuses a key that zod drops from objects with names of the client's own. */
export const withoutPrototype = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value, context) => {
    if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__'))
      context.addIssue({ code: 'custom', path: ['__proto__'], message: 'is not a known parameter', input: value })
    return value
  }, schema)
