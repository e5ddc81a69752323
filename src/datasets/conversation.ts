// A row with messages, in OpenAI's fine-tuning format, in that of ShareGPT, or divided into prompt and completion as TRL does. Every assistant message is trained on,
// with the messages before it as input.
import { plainChat, toolOnWire, type ChatTool } from '../domain/chat.ts'
import type { Conversation, DatasetRow, ReadRow } from './read-row.ts'
import { readMessage, type ReadMessage } from './message.ts'
import { isAbsent, type Field, type FieldName, type listNames, type RowFields, type RowProblem } from './row-fields.ts'
import { quoted } from './shown-names.ts'
import { readTools } from './tool-calls.ts'

/** The trainer makes up to one sequence for each answer, so the work for a row grows with their number. */
export const maxMessages = 1000

export function readConversation(
  name: (typeof listNames)[number],
  fields: RowFields,
  unread: string[],
): ReadRow | RowProblem {
  const field = fieldOf(fields, name)
  const messages = readMessages(field, [], unread)
  return 'reason' in messages ? messages : readRest(messages, { field: field.key, fields, unread, read: [name] })
}

/** TRL writes a conversation so: nothing is learned from a prompt, also where the assistant speaks in it. */
export const isPromptOfMessages = ({ known }: RowFields): boolean => {
  const prompt = known.get('prompt')?.value
  return Array.isArray(prompt) && prompt.length > 0 && !isAbsent(known.get('completion')?.value)
}

/** Reads a list `prompt` and, after it, a list or a text `completion`. */
export function readPromptAndCompletion(fields: RowFields, unread: string[]): ReadRow | RowProblem {
  const open: string[] = []
  const asked = readMessages(fieldOf(fields, 'prompt'), open, unread)
  if ('reason' in asked) return asked
  const { key, value } = fieldOf(fields, 'completion')
  const said = typeof value === 'string' ? [{ role: 'assistant', content: value }] : value
  const answered = readMessages({ key, value: said }, open, unread)
  if ('reason' in answered) return answered
  const messages = [...asked.map((each) => ({ ...each, isLearned: false })), ...answered]
  return messages.length > maxMessages
    ? tooMany(key, messages.length)
    : readRest(messages, { field: key, fields, unread, read: ['prompt', 'completion'] })
}

const fieldOf = ({ known }: RowFields, name: FieldName): Field => known.get(name) ?? { key: name, value: undefined }

/** @param open ids of calls without a result yet */
export function readMessages(
  { key, value: list }: Field,
  open: string[],
  unread: string[],
): ReadMessage[] | RowProblem {
  if (!Array.isArray(list)) return { field: key, reason: 'is not a list of messages' }
  if (list.length > maxMessages) return tooMany(key, list.length)
  const messages: ReadMessage[] = []
  for (const [index, each] of list.entries()) {
    const read = readMessage(each, { list: key, index, open, unread })
    if ('reason' in read) return read
    messages.push(read)
  }
  return messages
}

const tooMany = (field: string, count: number): RowProblem => ({
  field,
  reason: `has ${count} messages; a conversation may have at most ${maxMessages}`,
})

type Rest = { field: string; fields: RowFields; unread: string[]; read: FieldName[] }

/** @param field the list of messages that ends in the answer */
function readRest(messages: ReadMessage[], { field, fields: { known }, unread, read }: Rest): ReadRow | RowProblem {
  if (!isAbsent(known.get('functions')?.value)) return { field: 'functions', reason: 'is not supported: use tools' }
  const tools = readTools(known.get('tools')?.value, unread)
  if ('reason' in tools) return tools
  const begun = withSystem(messages, known.get('system'))
  if ('reason' in begun) return begun
  const row = conversationOf(field, begun, tools)
  if ('reason' in row) return row
  if (begun.length > (row.conversation?.messages.length ?? 0)) unread.push(`${field} after the last answer`)
  return { row, read: [...read, 'system', 'tools', 'functions'] }
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
  const muted = read.slice(0, last).flatMap(({ isMuted }, index) => (isMuted ? [index] : []))
  const conversation: Conversation = {
    messages: messages.slice(0, last).concat(answer),
    learned,
    ...(muted.length > 0 && { muted }),
    ...offering(tools),
  }
  const output = plainChat([answer]).slice('assistant: '.length)
  return { input: plainChat(messages.slice(0, last)), output, conversation }
}

const offering = (tools: readonly ChatTool[]) => (tools.length > 0 ? { tools: tools.map(toolOnWire) } : {})
