// The formats that a row of a data set may have, and what the trainer gets from each.
import type { ChatMessage, toolOnWire } from '../domain/chat.ts'
import { readConversation } from './conversation.ts'

/** `learned`: the positions of the assistant messages to train on, in ascending order. The last message is the last of them. */
export type Conversation = { messages: ChatMessage[]; learned: number[]; tools?: ReturnType<typeof toolOnWire>[] }

/** For a conversation, `input` is the plain text before the last answer, and `output` is that answer. */
export type DatasetRow = { input: string; output: string; conversation?: Conversation }
export type RowProblem = { field: string; reason: string }

/** The first pair with a field in the row decides its format. */
const pairs = [
  ['input', 'output'],
  ['prompt', 'completion'],
  ['question', 'answer'],
  ['user', 'assistant'],
] as const

/** Turns a row of any format into input and output. A `text` row trains on its whole text. */
export function readDatasetRow(value: unknown): DatasetRow | RowProblem {
  if (!isObject(value)) return noObject
  if ('messages' in value) return readConversation(value)
  const pair = pairs.find(([input, output]) => input in value || output in value)
  if (pair) return readPair(value, pair)
  if (!('text' in value)) return { field: 'input', reason: 'is missing' }
  return readColumns(value, { input: null, output: 'text' })
}

/** The columns of a file that hold what the trainer reads. Without `input` the trainer learns the whole text of `output`. */
export type Columns = { input: string | null; output: string }

/** Reads a row whose columns have names of their own. */
export function readColumns(value: unknown, { input, output }: Columns): DatasetRow | RowProblem {
  if (!isObject(value)) return noObject
  if (input !== null) return readPair(value, [input, output])
  return readText(value, output, { mayBeEmpty: false }, (text) => ({ input: '', output: text }))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const noObject: RowProblem = { field: 'row', reason: 'is not an object such as {"input": "...", "output": "..."}' }

function readPair(row: Record<string, unknown>, [input, output]: readonly [string, string]): DatasetRow | RowProblem {
  return readText(row, input, { mayBeEmpty: true }, (inputText) =>
    readText(row, output, { mayBeEmpty: false }, (outputText) => ({ input: inputText, output: outputText })),
  )
}

function readText(
  row: Record<string, unknown>,
  field: string,
  { mayBeEmpty }: { mayBeEmpty: boolean },
  then: (text: string) => DatasetRow | RowProblem,
): DatasetRow | RowProblem {
  const value = row[field]
  if (value === undefined || value === null) return { field, reason: 'is missing' }
  if (typeof value !== 'string')
    return { field, reason: `is ${Array.isArray(value) ? 'an array' : `a ${typeof value}`}, not a string` }
  if (value === '' && !mayBeEmpty) return { field, reason: 'is empty' }
  if (value.includes('\0')) return { field, reason: 'contains a NUL character' }
  return then(value)
}

export const isProblem = (row: DatasetRow | RowProblem): row is RowProblem => 'reason' in row
