// The form of the rows that a model learned, which is the form in which it answers best.

export const learnedForms = ['texts', 'pairs', 'conversations'] as const
/** `texts`: whole texts. `pairs`: an output after an input. `conversations`: answers in a chat. */
export type LearnedForm = (typeof learnedForms)[number]

/** `form`: that of most rows. `systemMessage`: the one that most conversations begin with; null when there is none. */
export type Learned = { form: LearnedForm; systemMessage: string | null }

/** A prompt that is asked as a chat. Without `system`, the system message that the model learned stands before it; "" is none. */
export type ChatOptions = { system?: string }

/** How rows without messages are asked: `asked` when the request says so, else in the form that the model learned. */
export function chatOptionsOf(
  asked: { asChat?: boolean | undefined; system?: string | undefined },
  learned: Pick<Learned, 'form'> | null,
): ChatOptions | null {
  const isChat = asked.asChat ?? learned?.form === 'conversations'
  if (!isChat) return null
  return asked.system === undefined ? {} : { system: asked.system }
}

/** The system message of a chat, if it has any. */
export const systemMessageOf = ({ system }: ChatOptions, learned: Learned | null): string | null =>
  (system ?? learned?.systemMessage) || null
