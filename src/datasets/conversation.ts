// A row of messages in OpenAI's fine-tuning format. Every assistant message is trained on, with the messages before it as input.
import { chatRoles, plainChat, toolOnWire, type ChatMessage, type ChatTool } from '../domain/chat.ts'
import type { DatasetRow, RowProblem } from './dataset-row.ts'
import { readCalls, readTools } from './tool-calls.ts'

/** Fields that a message may have beside role and content, as long as they are empty. */
const emptyFields = ['name', 'refusal', 'audio', 'function_call']

/** The trainer makes up to one sequence for each answer, so the work for a row grows with their number. */
const maxMessages = 1000

export function readConversation(row: Record<string, unknown>): DatasetRow | RowProblem {
  if (!isEmpty(row['functions'])) return { field: 'functions', reason: 'is not supported: use tools' }
  const tools = readTools(row['tools'])
  if ('reason' in tools) return tools
  const { messages: raw } = row
  if (!Array.isArray(raw) || raw.length === 0) return { field: 'messages', reason: 'is not a list of messages' }
  if (raw.length > maxMessages)
    return { field: 'messages', reason: `has ${raw.length} messages; a conversation may have at most ${maxMessages}` }
  const messages: ChatMessage[] = []
  const learned: number[] = []
  for (const [index, each] of raw.entries()) {
    const read = readMessage(each, `messages[${index}]`)
    if ('reason' in read) return read
    if (read.isLearned && index > 0) learned.push(index)
    messages.push(read.message)
  }
  const last = learned.at(-1)
  const answer = last === undefined ? undefined : messages[last]
  if (!answer) return { field: 'messages', reason: 'has no assistant message to train on' }
  // Nothing is learned from the messages after the last answer.
  const conversation = { messages: messages.slice(0, last).concat(answer), learned, ...offering(tools) }
  const output = plainChat([answer]).slice('assistant: '.length)
  return { input: plainChat(messages.slice(0, last)), output, conversation }
}

const offering = (tools: ChatTool[]) => (tools.length > 0 ? { tools: tools.map(toolOnWire) } : {})

function readMessage(value: unknown, at: string): { message: ChatMessage; isLearned: boolean } | RowProblem {
  if (typeof value !== 'object' || value === null) return { field: at, reason: 'is not a message' }
  const { role: word, content, weight = 1, ...more } = value as Record<string, unknown>
  const role = word === 'developer' ? 'system' : chatRoles.find((each) => each === word)
  if (!role) return { field: `${at}.role`, reason: 'is not system, developer, user, assistant or tool' }
  const other = emptyFields.find((field) => field in more && !isEmpty(more[field]))
  if (other !== undefined) return { field: `${at}.${other}`, reason: 'is not supported' }
  const calls = readCalls(more['tool_calls'], `${at}.tool_calls`)
  if ('reason' in calls) return calls
  if (calls.length > 0 && role !== 'assistant') return { field: `${at}.tool_calls`, reason: 'is for the assistant' }
  const callId = more['tool_call_id']
  if (role === 'tool' && typeof callId !== 'string') return { field: `${at}.tool_call_id`, reason: 'is not a string' }
  const text = calls.length > 0 && isEmpty(content) ? '' : textOf(content)
  if (text === null) return { field: `${at}.content`, reason: 'is not a string' }
  if (text.includes('\0')) return { field: `${at}.content`, reason: 'contains a NUL character' }
  if (weight !== 0 && weight !== 1) return { field: `${at}.weight`, reason: 'is neither 0 nor 1' }
  const isLearned = role === 'assistant' && weight === 1
  if (isLearned && text === '' && calls.length === 0) return { field: `${at}.content`, reason: 'is empty' }
  const message: ChatMessage = { role, content: text }
  if (calls.length > 0) message.calls = calls
  if (typeof callId === 'string') message.callId = callId
  return { message, isLearned }
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
