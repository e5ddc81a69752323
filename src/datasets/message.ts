// One message of a row. OpenAI writes `role` and `content`, ShareGPT writes `from` and `value`.
import type { ChatMessage } from '../domain/chat.ts'
import { isAbsent, isObject, noteUnread, type RowProblem } from './row-fields.ts'
import { quoted } from './shown-names.ts'
import { readCalls, readWrittenCalls } from './tool-calls.ts'

export type ReadMessage = { message: ChatMessage; isLearned: boolean; isMuted?: boolean }

/** `list`: the field that holds the messages. `open`: ids of calls without a result yet, for results that name no call. */
type Place = { list: string; index: number; open: string[]; unread: string[] }

/** An answer with one of these says more than its text, so they may only be empty. */
const emptyFields = ['refusal', 'audio', 'function_call']
/** axolotl and ms-swift say so whether an answer is learned. */
const flags = ['train', 'loss']
const isFlag = (value: unknown) => typeof value === 'boolean' || value === 0 || value === 1

const roles = new Map<string, ChatMessage['role']>([
  ...(['system', 'user', 'assistant', 'tool'] as const).map((role) => [role, role] as const),
  ['developer', 'system'],
  ['human', 'user'],
  ...['gpt', 'chatgpt', 'bing', 'bard', 'function_call'].map((word) => [word, 'assistant'] as const),
  ...['function', 'observation'].map((word) => [word, 'tool'] as const),
])

export function readMessage(value: unknown, { list, index, open, unread }: Place): ReadMessage | RowProblem {
  const at = `${list}[${index}]`
  if (!isObject(value)) return { field: at, reason: 'is not a message' }
  const speaker = isAbsent(value['role']) && !isAbsent(value['from']) ? 'from' : 'role'
  const word = wordOf(value[speaker])
  const role = roles.get(word)
  if (!role) return { field: `${at}.${speaker}`, reason: unknownRole[speaker] }
  const other = emptyFields.find((field) => !isAbsent(value[field]))
  if (other !== undefined)
    return { field: `${at}.${other}`, reason: `is not supported${other === 'function_call' ? ': use tool_calls' : ''}` }
  const flag = role === 'assistant' && isAbsent(value['weight']) ? flags.find((name) => isFlag(value[name])) : undefined
  const weight = flag ? Number(value[flag]) : isAbsent(value['weight']) ? 1 : value['weight']
  if (weight !== 0 && weight !== 1) return { field: `${at}.weight`, reason: 'is neither 0 nor 1' }

  const field = isAbsent(value['content']) && (speaker === 'from' || !isAbsent(value['value'])) ? 'value' : 'content'
  const text = textOf(value[field], `${list}[].${field}`, unread)
  const isCall = word === 'function_call'
  const calls = isCall
    ? readWrittenCalls(text, `${at}.${field}`, { index, list, unread })
    : readCalls(value['tool_calls'], `${at}.tool_calls`, { list: `${list}[].tool_calls`, unread })
  if ('reason' in calls) return calls
  if (calls.length > 0 && role !== 'assistant') return { field: `${at}.tool_calls`, reason: 'is for the assistant' }
  const tie = tieOf(value, { role, mayBeNameless: speaker === 'from', at, open })
  if ('reason' in tie) return tie
  const isLearned = role === 'assistant' && weight === 1
  // A call, a result and an answer that is not learned may say nothing.
  const mayBeLeftOut = role === 'assistant' || role === 'tool'
  const content = isCall || (mayBeLeftOut && isAbsent(value[field])) ? '' : text
  const problem = isLearned && content === '' && calls.length === 0 ? 'is empty' : textProblem(content, value[field])
  if (content === null || problem !== null) return { field: `${at}.${field}`, reason: problem ?? '' }

  open.push(...calls.map(({ id }) => id))
  const isPlain = value['type'] === 'message' || value['type'] === 'text'
  const more = [isCall ? '' : 'tool_calls', role === 'tool' ? 'name' : '', isPlain ? 'type' : '']
  noteUnread(value, [speaker, field, 'weight', flag ?? '', 'tool_call_id', ...more], `${list}[]`, unread)
  return {
    message: { role, content, ...(calls.length > 0 && { calls }), ...tie },
    isLearned,
    isMuted: role === 'assistant' && weight === 0,
  }
}

function textProblem(content: string | null, given: unknown): string | null {
  if (content === null) return otherPart(given) ?? 'is not a string'
  return content.includes('\0') ? 'contains a NUL character' : null
}

/** Names what a content holds beside text, such as an image. */
function otherPart(given: unknown): string | null {
  const types = Array.isArray(given) ? given.map((part: unknown) => (isObject(part) ? part['type'] : null)) : []
  const other = types.find((type) => typeof type === 'string' && type !== 'text')
  return typeof other === 'string' ? `has a part of the type ${quoted(other)}: only texts are learned` : null
}

const wordOf = (word: unknown) => (typeof word === 'string' ? word.toLowerCase() : '')

const unknownRole = {
  role: 'is not system, developer, user, assistant or tool',
  from: 'is not system, human, gpt, function_call or observation',
}

/** The id of its call ties a result to the call; a row may also name the function. */
function tieOf(
  value: Record<string, unknown>,
  { role, mayBeNameless, at, open }: { role: string; mayBeNameless: boolean; at: string; open: string[] },
): Pick<ChatMessage, 'callId' | 'name'> | RowProblem {
  const { tool_call_id: id, name } = value
  if (role !== 'tool') return typeof id === 'string' && id !== '' ? { callId: id } : {}
  const callId = mayBeNameless && isAbsent(id) ? open[0] : id
  if (typeof callId !== 'string' && !(mayBeNameless && callId === undefined))
    return { field: `${at}.tool_call_id`, reason: 'is not a string' }
  if (!isAbsent(name) && typeof name !== 'string') return { field: `${at}.name`, reason: 'is not a string' }
  if (typeof callId === 'string' && open.includes(callId)) open.splice(open.indexOf(callId), 1)
  return {
    ...(typeof callId === 'string' && { callId }),
    ...(typeof name === 'string' && name !== '' && { name }),
  }
}

/** @returns the content, with text parts joined; null for any other content */
function textOf(content: unknown, at: string, unread: string[]): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content) || content.length === 0) return null
  const texts: string[] = []
  for (const part of content as unknown[]) {
    if (!isObject(part) || part['type'] !== 'text' || typeof part['text'] !== 'string') return null
    noteUnread(part, ['type', 'text'], `${at}[]`, unread)
    texts.push(part['text'])
  }
  return texts.join('')
}
