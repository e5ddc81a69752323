// One row of a data set: what it may look like, and what the trainer gets of it.
import type { ChatMessage } from '../domain/chat.ts'
import { readConversation } from './conversation.ts'

/** One answer of a conversation, and what was said before it. */
export type ChatAnswer = { messages: ChatMessage[]; output: string }

/** Of a conversation: its plain text up to the last answer, that answer, and `answers`, all those that are learned. */
export type DatasetRow = { input: string; output: string; answers?: ChatAnswer[] }
export type RowProblem = { field: string; reason: string }

/** Field pairs that clients send, in the order in which they are looked for. */
const pairs = [
  ['input', 'output'],
  ['prompt', 'completion'],
  ['question', 'answer'],
  ['user', 'assistant'],
] as const

/** A row of one of the known shapes becomes input and output; a `text` row trains on all of its text. */
export function readDatasetRow(value: unknown): DatasetRow | RowProblem {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { field: 'row', reason: 'is not an object such as {"input": "...", "output": "..."}' }
  const row = value as Record<string, unknown>
  if ('messages' in row) return readConversation(row)
  const pair = pairs.find(([input, output]) => input in row || output in row)
  if (pair) return readPair(row, pair)
  if (!('text' in row)) return { field: 'input', reason: 'is missing' }
  return readText(row, 'text', { mayBeEmpty: false }, (text) => ({ input: '', output: text }))
}

function readPair(row: Record<string, unknown>, [input, output]: (typeof pairs)[number]): DatasetRow | RowProblem {
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
  if (value.includes('\0')) return { field, reason: 'holds a NUL character' }
  return then(value)
}

export const isProblem = (row: DatasetRow | RowProblem): row is RowProblem => 'reason' in row
