// A row with a list of messages, in OpenAI's fine-tuning format or in that of ShareGPT. Every assistant message is trained on,
// with the messages before it as input.
import { plainChat, toolOnWire, type ChatTool } from '../domain/chat.ts'
import type { DatasetRow, ReadRow } from './dataset-row.ts'
import { readMessage, type ReadMessage } from './message.ts'
import { isAbsent, type listNames, type RowFields, type RowProblem } from './row-fields.ts'
import { quoted } from './shown-names.ts'
import { readTools } from './tool-calls.ts'

/** The trainer makes up to one sequence for each answer, so the work for a row grows with their number. */
export const maxMessages = 1000

export function readConversation(
  name: (typeof listNames)[number],
  { known }: RowFields,
  unread: string[],
): ReadRow | RowProblem {
  if (!isAbsent(known.get('functions')?.value)) return { field: 'functions', reason: 'is not supported: use tools' }
  const tools = readTools(known.get('tools')?.value, unread)
  if ('reason' in tools) return tools
  const { key, value: list } = known.get(name) ?? { key: name, value: undefined }
  if (!Array.isArray(list)) return { field: key, reason: 'is not a list of messages' }
  if (list.length > maxMessages)
    return { field: key, reason: `has ${list.length} messages; a conversation may have at most ${maxMessages}` }
  const messages: ReadMessage[] = []
  const open: string[] = []
  for (const [index, each] of list.entries()) {
    const read = readMessage(each, { list: key, index, open, unread })
    if ('reason' in read) return read
    messages.push(read)
  }
  const begun = withSystem(messages, known.get('system'))
  if ('reason' in begun) return begun
  const row = conversationOf(key, begun, tools)
  if ('reason' in row) return row
  if (begun.length > (row.conversation?.messages.length ?? 0)) unread.push(`${key} after the last answer`)
  return { row, read: [name, 'system', 'tools', 'functions'] }
}

/** Puts a field `system` before the messages, unless they begin with its text. */
function withSystem(
  messages: ReadMessage[],
  system: { key: string; value: unknown } | undefined,
): ReadMessage[] | RowProblem {
  if (!system || isAbsent(system.value)) return messages
  const { key: field, value: content } = system
  if (typeof content !== 'string') return { field, reason: 'is not a string' }
  if (content.includes('\0')) return { field, reason: 'contains a NUL character' }
  const first = messages[0]?.message
  if (first?.role !== 'system') return [{ message: { role: 'system', content }, isLearned: false }, ...messages]
  return first.content === content
    ? messages
    : {
        field,
        reason: `stands beside messages that begin with another system message, ${quoted(first.content)}: keep one`,
      }
}

/** @param field the list of messages in the row */
export function conversationOf(
  field: string,
  read: readonly ReadMessage[],
  tools: readonly ChatTool[],
): DatasetRow | RowProblem {
  const messages = read.map(({ message }) => message)
  const learned = read.flatMap(({ isLearned }, index) => (isLearned && index > 0 ? [index] : []))
  const last = learned.at(-1)
  const answer = last === undefined ? undefined : messages[last]
  if (!answer) return { field, reason: 'has no assistant message to train on' }
  // Nothing is learned from the messages after the last answer.
  const conversation = { messages: messages.slice(0, last).concat(answer), learned, ...offering(tools) }
  const output = plainChat([answer]).slice('assistant: '.length)
  return { input: plainChat(messages.slice(0, last)), output, conversation }
}

const offering = (tools: readonly ChatTool[]) => (tools.length > 0 ? { tools: tools.map(toolOnWire) } : {})
