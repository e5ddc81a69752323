// Sentences about answers that may not be what their caller wanted. Headers are ASCII, so no sentence repeats a name.
import type { CatalogueEntry } from './catalogue.ts'
import type { Learned } from './learned.ts'

const advice = 'ask it as a chat ("as_chat": true, or POST /openai/v1/chat/completions)'

type Answerer = { baseModel: Pick<CatalogueEntry, 'chatTemplate'>; learned: Pick<Learned, 'form'> | null }

/** Why plain prompts may be the wrong form: the model learned conversations, or has a chat template. */
export type PlainPromptRisk = 'learned_conversations' | 'has_chat_template'

export function plainPromptRisk({ baseModel, learned }: Answerer): PlainPromptRisk | null {
  if (learned?.form === 'conversations') return 'learned_conversations'
  return baseModel.chatTemplate ? 'has_chat_template' : null
}

/** How many answers are there, and how many of them are empty. */
type Counts = { count: number; empty: number }

/** @param answers in text, `{output}`, or of fields; null for a refused item */
export const countEmpty = (answers: readonly (Record<string, unknown> | null)[]): number =>
  answers.filter((answer) => typeof answer?.['output'] === 'string' && answer['output'].trim() === '').length

/** @param risk null when the model was asked as a chat, or has none */
export function answerWarning(risk: PlainPromptRisk | null, { count, empty }: Counts): string | null {
  const what = empty === 1 && count === 1 ? 'The answer is empty' : `${empty} of ${count} answers are empty`
  if (risk === 'learned_conversations')
    return empty > 0
      ? `${what}: this model learned conversations, so ${advice}.`
      : `This model learned conversations, but the prompt was sent as plain text: ${advice}.`
  if (empty === 0) return null
  return risk === 'has_chat_template'
    ? `${what}: this model has a chat template, so ${advice}.`
    : `${what}: the model ended at once.`
}
