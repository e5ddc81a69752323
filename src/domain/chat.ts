// A conversation: what a model's chat template is given.

export const chatRoles = ['system', 'user', 'assistant'] as const
export type ChatRole = (typeof chatRoles)[number]
export type ChatMessage = { role: ChatRole; content: string }

/** To be read by people, measured and compared; never what a model reads. */
export const plainChat = (messages: readonly ChatMessage[]) =>
  messages.map(({ role, content }) => `${role}: ${content}`).join('\n')
