import type { Accepted } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { countTokens } from './engine-client.ts'
import { partOf, promptsOf, type CompletionRequest } from './request.ts'
import { workOf } from './text-bounds.ts'

/** The tokens of one prompt, or of the conversation, as the model's own tokenizer and template make them. */
export async function countPrompt(
  request: Accepted<CompletionRequest<unknown>>,
  row: number,
  signal: AbortSignal,
): Promise<number> {
  const part = partOf(request.input, [row])
  const { count } = await callWithFailover(request, workOf(promptsOf(part), 0), signal, countTokens(part))
  return count
}
