import { z } from 'zod'

export const ModelName = z
  .string()
  .min(1)
  .max(256)
  .refine((name) => !name.includes('\0'), 'must not contain NUL characters')
  .describe('A base model, one of its aliases, or a tuned model')

export const SpecialTokens = z
  .boolean()
  .nullish()
  .describe(
    'Whether special tokens of the model, such as </s>, act in the prompt, which may be written by a template. false: the prompt is text. Stored rows that are put before a prompt are always text. Default true',
  )

const maxPrompts = 10_000

const Text = z.string({
  error: ({ input }) =>
    typeof input === 'number' || Array.isArray(input) ? 'must be a string: token ids are not supported' : undefined,
})

export const Prompt = z
  .union([z.string(), z.array(Text).max(maxPrompts)], {
    error: ({ input }) =>
      Array.isArray(input) && input.length > maxPrompts
        ? `must have at most ${maxPrompts} items. Split the list into several requests`
        : 'must be a string or a list of strings',
  })
  .describe(`One string, or a list of at most ${maxPrompts}`)
