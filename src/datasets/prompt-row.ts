// Rows for reinforcement: a prompt, and an item of any other fields, which graders read.
import { plainChat, toolOnWire } from '../domain/chat.ts'
import { MissingPart, valueAt } from '../domain/item-template.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import { readMessages } from './conversation.ts'
import type { DatasetRow } from './read-row.ts'
import { isAbsent, isObject, type RowProblem } from './row-fields.ts'
import { shown } from './shown-names.ts'
import { readText } from './text-field.ts'
import { readTools } from './tool-calls.ts'

type Fields = Record<string, unknown>

/** JSON writes the character so. */
const escapedNul = /(?:^|[^\\])(?:\\\\)*\\u0000/
/** An item travels with each of its samples. */
const maxItemCharacters = 65_536

/** @param needs the parts of an item that the job's graders read */
export const promptReaderOf =
  (needs: readonly ItemNeed[]) =>
  (value: unknown, unread: string[] = []): DatasetRow | RowProblem => {
    if (!isObject(value)) return { field: 'row', reason: 'is not an object such as {"prompt": "..."}' }
    const parts = partsOf(value)
    if ('reason' in parts) return parts
    const { asked, item } = parts
    const row = readAsked(asked, value, unread)
    if ('reason' in row) return row
    const problem = itemProblem(item, needs)
    if (problem) return problem
    for (const key of Object.keys(item)) if (isOfChat(key) && !isRead(key, needs)) unread.push(key)
    return { ...row, item }
  }

/** Other platforms put these beside a prompt. Here they are parts of the item, which only graders read. */
const isOfChat = (key: string) => /^\s*(system|functions)\s*$/i.test(key)
const isRead = (key: string, needs: readonly ItemNeed[]) =>
  needs.some(({ name }) => name === 'item' || new RegExp(`^item[.[]${key}\\b`).test(name))

type Asked = { prompt?: Field; messages?: Field; tools?: Field }
type Field = { key: string; value: unknown }

/** Capitals, and blanks around a name, make no difference in the fields that are read. */
function partsOf(value: Fields): { asked: Asked; item: Fields } | RowProblem {
  const asked: Asked = {}
  const item: [string, unknown][] = []
  for (const [key, each] of Object.entries(value)) {
    const name = key.trim().toLowerCase()
    if (name === 'prompt' || name === 'messages' || name === 'tools') {
      const other = asked[name]
      if (other && !isAbsent(each)) return { field: key, reason: `is the same field as "${other.key}": keep one` }
      if (!isAbsent(each)) asked[name] = { key, value: each }
    } else item.push([key, each])
  }
  return { asked, item: Object.fromEntries(item) }
}

function readAsked({ prompt, messages, tools }: Asked, row: Fields, unread: string[]): DatasetRow | RowProblem {
  if (prompt && messages) return { field: prompt.key, reason: 'stands beside messages: keep one of them' }
  const field = messages ?? prompt
  if (!field) return missingPrompt(row)
  if (field === messages || Array.isArray(field.value)) return readChat(field, tools?.value, unread)
  if (tools) return { field: tools.key, reason: 'is for a prompt of messages' }
  const input = readText(field.value, field.key, { mayBeEmpty: false })
  return typeof input === 'string' ? { input, output: '' } : input
}

/** GSM8K has the first name, sets of mathematics the second. Graders may read them too, so nobody renames them unasked. */
const promptWords = ['question', 'problem', 'query', 'instruction', 'user']

/** Names the method that takes the row, or the field that is its prompt. */
function missingPrompt(row: Fields): RowProblem {
  const empty = Object.keys(row).find((key) => /^(prompt|messages)$/i.test(key.trim()))
  if (empty !== undefined) return { field: empty, reason: 'is empty' }
  const has = (name: string) => !isAbsent(row[name])
  const method = ['preferred_output', 'chosen', 'rejected'].some(has)
    ? 'dpo'
    : has('label') || has('kto_tag')
      ? 'kto'
      : ['input', 'output', 'text', 'completion'].some(has) && 'supervised'
  const other = method ? undefined : promptWords.find(has)
  if (other) return { field: 'prompt', reason: `is missing: rename ${other} to prompt` }
  if (!method) return { field: 'prompt', reason: 'is missing' }
  return { field: 'prompt', reason: `is missing. This job's method is reinforcement; such rows are for ${method}` }
}

function readChat(field: Field, given: unknown, unread: string[]): DatasetRow | RowProblem {
  const read = readMessages(field, [], unread)
  if ('reason' in read) return read
  const tools = readTools(given, unread)
  if ('reason' in tools) return tools
  const messages = read.map(({ message }) => message)
  const last = messages.at(-1)?.role
  if (last !== 'user' && last !== 'tool') {
    const advice = "This job's method is reinforcement; rows that end in an answer are for supervised"
    return { field: field.key, reason: `the last message is not of the user. ${advice}` }
  }
  if (last === 'user' && messages.at(-1)?.content === '')
    return { field: field.key, reason: 'ends in an empty message of the user' }
  const offered = tools.length > 0 && { tools: tools.map(toolOnWire) }
  return { input: plainChat(messages), output: '', conversation: { messages, learned: [], ...offered } }
}

function itemProblem(item: Fields, needs: readonly ItemNeed[]): RowProblem | null {
  const text = JSON.stringify(item)
  if (text.length > maxItemCharacters)
    return { field: 'item', reason: `has more than ${maxItemCharacters} characters of JSON beside the prompt` }
  if (escapedNul.test(text)) return { field: nameWithNul(item), reason: 'contains a NUL character' }
  const rounded = roundedIn(item)
  if (rounded)
    return {
      field: `item.${rounded}`,
      reason: 'has a whole number beyond 2^53, which loses digits: write it as a text',
    }
  for (const { name, grader } of needs) {
    const lack = lackOf(name, item)
    if (lack) return { field: name, reason: `${lack}; the grader "${grader}" reads it` }
  }
  return null
}

function nameWithNul(item: Fields): string {
  const name = Object.keys(item).find((each) => escapedNul.test(JSON.stringify(item[each])))
  return name === undefined ? 'item' : `item.${shown(name)}`
}

/** The field that holds a number whose digits were lost when its line was read; 1e999 was read as infinite. */
function roundedIn(item: Fields): string | undefined {
  const loses = (value: unknown): boolean =>
    typeof value === 'number'
      ? !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
      : typeof value === 'object' && value !== null && Object.values(value).some(loses)
  return Object.keys(item).find((key) => loses(item[key]))
}

/** Null would be the text "null" to a grader that compares texts. */
function lackOf(name: string, item: Fields): string | null {
  try {
    return valueAt(name, { item }) === null ? 'is null' : null
  } catch (error) {
    if (error instanceof MissingPart) return 'is missing'
    throw error
  }
}
