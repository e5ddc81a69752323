// The fields that a row of a data set may have, and what is known of their names.
import { quoted, shown } from './shown-names.ts'

/** Fields that hold an answer, and fields that hold what it answers. */
export const answerNames = ['output', 'completion', 'response', 'answer', 'assistant'] as const
export const promptNames = ['input', 'prompt', 'question', 'user'] as const

/** Prompts and the answers that belong to them, the first ones first. */
export const pairs = [
  ['input', 'output'],
  ['prompt', 'completion'],
  ['question', 'answer'],
  ['user', 'assistant'],
] as const

/** Fields that hold a list of messages. */
export const listNames = ['messages', 'conversations'] as const
/** Parts that are lists. With another value, the field only has the same name. */
const listedParts = ['history', 'tools', 'functions'] as const
/** Parts of what an answer follows. To leave one out changes the meaning of a row. */
const partNames = ['system', 'instruction', 'context', ...listedParts] as const
/** Two answers to compare. Other methods of training learn from them. */
const comparedNames = ['chosen', 'rejected', 'preferred_output', 'non_preferred_output'] as const

const allNames = [...answerNames, ...promptNames, ...listNames, ...partNames, ...comparedNames, 'text'] as const
export type FieldName = (typeof allNames)[number]

const names = new Map<string, FieldName>([
  ...allNames.map((name): [string, FieldName] => [name, name]),
  ['system_prompt', 'system'],
  ['conversation', 'conversations'],
])
const longestName = 32

/** Whether a form of rows has a field of this name. */
export const isFieldName = (name: string) => names.has(name.trim().toLowerCase())

/** `key`: the name as the row writes it. */
export type Field = { key: string; value: unknown }

/** `known`: also empty ones. `others`: fields that hold something, and that no form of rows has. */
export type RowFields = { known: Map<FieldName, Field>; others: Field[] }
export type RowProblem = { field: string; reason: string }

/** Capitals, and blanks around a name, make no difference. */
export function fieldsOf(row: Record<string, unknown>): RowFields | RowProblem {
  const known = new Map<FieldName, Field>()
  const others: Field[] = []
  for (const key of Object.keys(row)) {
    const value = row[key]
    const name = names.get(key) ?? (key.length <= longestName ? names.get(key.trim().toLowerCase()) : undefined)
    const before = name && known.get(name)
    if (!name) {
      if (!isAbsent(value)) others.push({ key, value })
    } else if (!before || isAbsent(before.value)) {
      // An empty field does not hide one that says the same in capitals.
      if (!before || !isAbsent(value)) known.set(name, { key, value })
    } else if (!isAbsent(value))
      return { field: shown(key), reason: `is the same field as ${quoted(before.key)}: keep one` }
  }
  return { known, others }
}

/** Clients write a field that they leave out as null, "", [] or {}. */
export const isAbsent = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (typeof value === 'object' && (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0))

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds the names of the fields that hold something and are not `read`, with the place that they have in any row. */
export function noteUnread(value: Record<string, unknown>, read: readonly string[], place: string, unread: string[]) {
  for (const key of Object.keys(value)) if (!read.includes(key) && !isAbsent(value[key])) unread.push(`${place}.${key}`)
}

/** Files also write a list as the text of its JSON. */
export const isList = (value: unknown) =>
  Array.isArray(value) || (typeof value === 'string' && value.trimStart().startsWith('['))

const isOneOf = (list: readonly FieldName[], name: FieldName) => list.includes(name)

/**
 * Adds the fields that a good row has beside those that were `read`.
 * @returns a problem when such a field changes what the row means
 */
export function leftOver(
  { known, others }: RowFields,
  read: readonly FieldName[],
  texts: readonly string[],
  unread: string[],
): RowProblem | null {
  const isNews = ({ value }: Field) => !isAbsent(value) && !texts.includes(value as string)
  const left: [FieldName, Field][] = []
  for (const [name, field] of known) if (!isOneOf(read, name) && isNews(field)) left.push([name, field])
  for (const [name, { key, value }] of left) {
    const asked = left.find(([prompt]) => pairs.some((pair) => pair[0] === prompt && pair[1] === name))
    if (asked)
      return {
        field: key,
        reason: `is a second answer, to ${quoted(asked[1].key)}: make two rows, or take both fields out`,
      }
    const isPart = isOneOf(listedParts, name) || isOneOf(listNames, name) ? isList(value) : isOneOf(partNames, name)
    if (isPart)
      return { field: key, reason: `is not read beside ${read[0]}: put its text there, or take the field out` }
    unread.push(key)
  }
  for (const other of others) if (isNews(other)) unread.push(other.key)
  return null
}
