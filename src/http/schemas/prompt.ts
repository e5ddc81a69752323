import { z } from 'zod'

export const ModelName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => !name.includes('\0'), 'must not contain NUL characters')
  .describe('A base model, one of its aliases, or a tuned model')

/** As many as one request may carry. */
const mostPrompts = 10_000

export const Prompt = z
  .union([z.string(), z.array(z.string()).max(mostPrompts)], {
    error: ({ input }) =>
      Array.isArray(input) && input.length > mostPrompts
        ? `must have at most ${mostPrompts} items in one request`
        : 'must be a string or a list of strings',
  })
  .describe(`One text, or a list of at most ${mostPrompts}`)
