// A conversation, as a model's chat template takes it.

export const chatRoles = ['system', 'user', 'assistant'] as const
export type ChatRole = (typeof chatRoles)[number]
export type ChatMessage = { role: ChatRole; content: string }

/** For people, length limits and comparisons. Models read the chat template's text instead. */
export const plainChat = (messages: readonly ChatMessage[]) =>
  messages.map(({ role, content }) => `${role}: ${content}`).join('\n')
