// A row of messages in OpenAI's fine-tuning format. Every assistant message is trained on, with the messages before it as input.
import { chatRoles, plainChat, type ChatMessage, type ChatRole } from '../domain/chat.ts'
import type { ChatAnswer, DatasetRow, RowProblem } from './dataset-row.ts'

/** Fields that a message may have beside role and content, as long as they are empty. */
const emptyFields = ['name', 'refusal', 'audio', 'tool_calls', 'function_call', 'tool_call_id']

export function readConversation(row: Record<string, unknown>): DatasetRow | RowProblem {
  const tools = ['tools', 'functions'].find((field) => !isEmpty(row[field]))
  if (tools !== undefined) return { field: tools, reason: 'is not supported' }
  const { messages: raw } = row
  if (!Array.isArray(raw) || raw.length === 0) return { field: 'messages', reason: 'is not a list of messages' }
  const messages: ChatMessage[] = []
  const answers: ChatAnswer[] = []
  for (const [index, each] of raw.entries()) {
    const read = readMessage(each, `messages[${index}]`)
    if ('reason' in read) return read
    const { message, isLearned } = read
    if (isLearned && index > 0) answers.push({ messages: [...messages], output: message.content })
    messages.push(message)
  }
  const last = answers.at(-1)
  if (!last) return { field: 'messages', reason: 'has no assistant message to train on' }
  return { input: plainChat(last.messages), output: last.output, answers }
}

function readMessage(value: unknown, at: string): { message: ChatMessage; isLearned: boolean } | RowProblem {
  if (typeof value !== 'object' || value === null) return { field: at, reason: 'is not a message' }
  const { role: word, content, weight = 1, ...more } = value as Record<string, unknown>
  const role = word === 'developer' ? 'system' : chatRoles.find((each) => each === word)
  if (!role) return { field: `${at}.role`, reason: 'is not system, developer, user or assistant' }
  const other = emptyFields.find((field) => field in more && !isEmpty(more[field]))
  if (other !== undefined) return { field: `${at}.${other}`, reason: 'is not supported' }
  const text = textOf(content)
  if (text === null) return { field: `${at}.content`, reason: 'is not a string' }
  if (text.includes('\0')) return { field: `${at}.content`, reason: 'contains a NUL character' }
  if (weight !== 0 && weight !== 1) return { field: `${at}.weight`, reason: 'is neither 0 nor 1' }
  const isLearned = role === 'assistant' && weight === 1
  if (isLearned && text === '') return { field: `${at}.content`, reason: 'is empty' }
  return { message: { role: role satisfies ChatRole, content: text }, isLearned }
}

/** @returns the content, with text parts joined; null for any other content */
function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content) || content.length === 0) return null
  const parts = content.map((part: unknown) => {
    const { type, text } = (part ?? {}) as Record<string, unknown>
    return type === 'text' && typeof text === 'string' ? text : null
  })
  return parts.every((part) => part !== null) ? parts.join('') : null
}

const isEmpty = (value: unknown) =>
  value === undefined || value === null || (Array.isArray(value) && value.length === 0)
