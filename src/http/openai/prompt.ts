import { z } from 'zod'
import type { Prompt } from '../../domain/prompt.ts'
import { Prompt as Texts } from '../schemas/prompt.ts'

const maxPrompts = 10_000
const maxTokens = 1_000_000
const TokenIds = z.array(z.int().min(0).max(1_000_000_000)).min(1).max(maxTokens)

/** Texts, or the ids of their tokens. */
export const CompletionPrompt = z
  .union([Texts, TokenIds, z.array(TokenIds).max(maxPrompts)], {
    error: `must be a string, a list of at most ${maxPrompts} strings, a list of token ids, or a list of such lists`,
  })
  .describe("Texts, or lists of token ids of the model's own vocabulary")

/** One prompt or many, as a list. */
export function listOf(prompt: z.output<typeof CompletionPrompt>): Prompt[] {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as Prompt[])
}
