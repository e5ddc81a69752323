// The formats that a row of a data set may have, and what the trainer gets from each.
import type { Columns } from '../domain/dataset-report.ts'
import { isPromptOfMessages, readConversation, readPromptAndCompletion } from './conversation.ts'
import { missingColumn } from './missing-field.ts'
import { readPair } from './pair-row.ts'
import type { DatasetRow } from './read-row.ts'
import { fieldsOf, isAbsent, isList, isObject, leftOver, listNames, type RowProblem } from './row-fields.ts'
import { readText } from './text-field.ts'

export type { RowProblem } from './row-fields.ts'
export type { Conversation, DatasetRow } from './read-row.ts'

/**
 * Turns a row of any format into input and output. A `text` row trains on its whole text.
 * @param unread gets the names of fields that hold something and are not read
 */
export function readDatasetRow(value: unknown, unread: string[] = []): DatasetRow | RowProblem {
  if (!isObject(value)) return noObject
  const fields = fieldsOf(value)
  if ('reason' in fields) return fields
  const list = listNames.find((name) => {
    const given = fields.known.get(name)?.value
    // Other data has a text or a number under the name of ShareGPT's list.
    return !isAbsent(given) && (name === 'messages' || isList(given))
  })
  const found = list
    ? readConversation(list, fields, unread)
    : isPromptOfMessages(fields)
      ? readPromptAndCompletion(fields, unread)
      : readPair(value, fields)
  if ('reason' in found) return found
  return leftOver(fields, found.read, textsOf(found.row), unread) ?? found.row
}

/** A field that repeats one of these texts says nothing that is not read. */
const textsOf = ({ input, output, conversation }: DatasetRow) =>
  conversation ? conversation.messages.map(({ content }) => content) : [input, output]

/** Reads a row whose columns have names of their own. */
export function readColumns(value: unknown, { input, output }: Columns): DatasetRow | RowProblem {
  if (!isObject(value)) return noObject
  const missing = [input, output].find((name) => name !== null && !Object.hasOwn(value, name))
  if (typeof missing === 'string') return missingColumn(value, missing)
  const inputText = input === null ? '' : readText(value[input], input, { mayBeEmpty: true })
  if (typeof inputText !== 'string') return inputText
  const outputText = readText(value[output], output, { mayBeEmpty: false })
  return typeof outputText === 'string' ? { input: inputText, output: outputText } : outputText
}

const noObject: RowProblem = { field: 'row', reason: 'is not an object such as {"input": "...", "output": "..."}' }

export const isProblem = (row: DatasetRow | RowProblem): row is RowProblem => 'reason' in row
