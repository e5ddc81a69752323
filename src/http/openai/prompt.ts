import { z } from 'zod'
import type { Prompt } from '../../domain/prompt.ts'
import { Prompt as Texts } from '../lamini/schemas/prompt.ts'

const maxPrompts = 10_000
const maxTokens = 1_000_000
const largestId = 1_000_000_000

const TokenIds = z.array(z.int().min(0).max(largestId)).min(1).max(maxTokens)
type CompletionPrompt = string | string[] | number[] | number[][]

/**
 * Texts, or the ids of their tokens. Zod would take a fifth of a second for half a million ids, so a loop reads them, and
 * `documented` is for the OpenAPI document.
 */
const documented = z.union([Texts, TokenIds, z.array(TokenIds).max(maxPrompts)])
export const CompletionPrompt = z
  .custom<CompletionPrompt>(isPrompt, {
    error: `must be a string, a list of at most ${maxPrompts} strings, a list of token ids, or a list of such lists`,
  })
  .meta({ anyOf: z.toJSONSchema(documented).anyOf })
  .describe("Texts, or lists of token ids of the model's own vocabulary")

function isPrompt(value: unknown): boolean {
  if (!Array.isArray(value)) return typeof value === 'string'
  if (typeof value[0] === 'number') return isTokenIds(value)
  return value.length <= maxPrompts && (value.every((each) => typeof each === 'string') || value.every(isTokenIds))
}

function isTokenIds(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxTokens) return false
  for (const id of value) if (!Number.isInteger(id) || id < 0 || id > largestId) return false
  return true
}

/** One prompt or many, as a list. */
export function listOf(prompt: CompletionPrompt): Prompt[] {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as Prompt[])
}
