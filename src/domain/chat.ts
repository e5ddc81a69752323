// A conversation, as a model's chat template takes it.

type ChatRole = 'system' | 'user' | 'assistant' | 'tool'

/** `arguments` is JSON. */
export type MessageCall = { id: string; name: string; arguments: string }

export type ChatMessage = {
  role: ChatRole
  content: string
  /** Of the assistant: the functions that it calls. */
  calls?: readonly MessageCall[]
  /** Of the role tool: the call that the content answers. */
  callId?: string
  /** The function whose result a message of the role tool is, if its writer says so. */
  name?: string
}

/** A function that the model may call; `parameters` is a JSON schema. */
export type ChatTool = { name: string; description?: string; parameters: Record<string, unknown> }

/** A conversation that the model is to answer. */
export type Chat = { messages: readonly ChatMessage[]; tools?: readonly ChatTool[] }

/** A single question as a conversation. */
export const chatOf = (question: string, system: string | null): Chat => {
  const user = { role: 'user' as const, content: question }
  return { messages: system === null ? [user] : [{ role: 'system', content: system }, user] }
}

/** V8 copies no text for `+`, as it does for `join`: most callers need the length only. */
export const textOfParts = (parts: readonly { text: string }[]) => parts.reduce((text, part) => text + part.text, '')

/** For people, length limits and comparisons. Models read the chat template's text instead. */
export const plainChat = (messages: readonly ChatMessage[]) =>
  // As in textOfParts.
  messages.reduce(
    (text, { role, content, calls }, at) => `${text}${at === 0 ? '' : '\n'}${role}: ${content}${plainCalls(calls)}`,
    '',
  )

/** `text`: the conversation without a template. Only its length counts. */
export type MeasuredChat = Chat & { text: string }

export const measured = (chat: Chat): MeasuredChat => ({ ...chat, text: plainChat(chat.messages) })

const plainCalls = (calls: ChatMessage['calls']) =>
  (calls ?? []).map((call) => `\n${call.name}(${call.arguments})`).join('')

/** A message as OpenAI and the engines write it. */
export const messageOnWire = ({ role, content, calls, callId, name }: ChatMessage) => ({
  role,
  content,
  ...(calls?.length && {
    tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
  }),
  ...(callId !== undefined && { tool_call_id: callId }),
  ...(name !== undefined && { name }),
})

export const toolOnWire = ({ name, description, parameters }: ChatTool) => ({
  type: 'function',
  function: { name, ...(description !== undefined && { description }), parameters },
})
