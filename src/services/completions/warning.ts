// A sentence about a request that was carried out, though it may not be what its caller wanted. Headers are ASCII, so no sentence
// repeats a name.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { Learned } from '../../domain/learned.ts'
import type { Asked } from './read-input.ts'

const advice = 'ask it as a chat ("as_chat": true, or POST /openai/v1/chat/completions)'

type Answerer = { baseModel: Pick<CatalogueEntry, 'chatTemplate'>; learned: Learned | null }

/** @param outputs the answers, of which one in text is `{output}` */
export function warningOf(
  kind: Asked['kind'],
  { baseModel, learned }: Answerer,
  outputs: readonly Record<string, unknown>[] = [],
): string | null {
  const isPlain = kind === 'prompts'
  const empty = outputs.filter(({ output }) => typeof output === 'string' && output.trim() === '').length
  const what =
    empty === 1 && outputs.length === 1 ? 'The answer is empty' : `${empty} of ${outputs.length} answers are empty`
  if (isPlain && learned?.form === 'conversations')
    return empty > 0
      ? `${what}: this model learned conversations, so ${advice}.`
      : `This model learned conversations, but the prompt was sent as plain text: ${advice}.`
  if (empty === 0) return null
  return isPlain && baseModel.chatTemplate
    ? `${what}: this model has a chat template, so ${advice}.`
    : `${what}: the model ended at once.`
}
