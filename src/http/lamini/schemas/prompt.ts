import { z } from 'zod'
import { keepsEmpty } from '../../kit/empty-fields.ts'

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

export const AsChat = z
  .boolean()
  .nullish()
  .describe(
    "true: the model's own chat template writes each prompt as the message of a user, and special tokens are text. false or absent: a prompt is sent as it is",
  )

/** "" asks for no system message. */
export const SystemMessage = keepsEmpty(
  z
    .string()
    .nullish()
    .describe(
      'The system message before each prompt that is asked as a chat. Absent: the one that the model learned (system_message of GET /v1/models); "": none',
    ),
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
