import type { Accepted } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { countTokens } from './engine-client.ts'
import { partOf, promptsOf, type CompletionRequest } from './request.ts'
import { workOf } from './text-bounds.ts'

/** The tokens of a single prompt or of a conversation, as the model's own tokenizer and template make them. */
export async function countInput(
  request: Accepted,
  input: CompletionRequest['input'],
  signal: AbortSignal,
): Promise<number> {
  const { count } = await callWithFailover(request, workOf(promptsOf(input), 0), signal, countTokens(input))
  return count
}

/** The tokens of the request's own prompt at this position, or of its conversation. */
export const countPrompt = (request: Accepted<CompletionRequest<unknown>>, row: number, signal: AbortSignal) =>
  countInput(request, partOf(request.input, [row]), signal)
