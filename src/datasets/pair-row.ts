// Rows with an answer and what stands before it, in fields of their own, and rows of plain text.
import { conversationOf, maxMessages } from './conversation.ts'
import type { DatasetRow, ReadRow } from './read-row.ts'
import { missingField } from './missing-field.ts'
import {
  answerNames,
  isAbsent,
  isList,
  isObject,
  pairs,
  promptNames,
  type Field,
  type FieldName,
  type RowFields,
  type RowProblem,
} from './row-fields.ts'
import { parseRow } from './row-json.ts'
import { readText } from './text-field.ts'

type Name = (typeof promptNames)[number] | (typeof answerNames)[number]

/** These fields stand before a prompt, in this order. Alpaca has `instruction` and `input`; Dolly has `instruction` and `context`. */
const partsBefore = ['instruction', 'context'] as const

export function readPair(row: Record<string, unknown>, fields: RowFields): ReadRow | RowProblem {
  const { known } = fields
  const { prompt, answer } = pairOf(fields)
  const parts: FieldName[] = partsBefore.filter((name) => has(fields, name))
  if (prompt) parts.push(prompt)
  const text = known.get('text')
  if (text && !answer && parts.length === 0 && !isAbsent(text.value)) return readWhole(text)
  const isAsked = parts.length > 0 || promptNames.some((name) => known.get(name)?.value === '')
  if (!answer || !isAsked) return missingField(row, fields)
  const system = has(fields, 'system') ? readPart(fields, 'system') : ''
  if (typeof system !== 'string') return system
  const texts: string[] = []
  for (const name of parts) {
    const part = readPart(fields, name)
    if (typeof part !== 'string') return part
    texts.push(part)
  }
  const output = readAnswer(fields, answer)
  if (typeof output !== 'string') return output
  const pair = { system, prompt: texts.join('\n'), output }
  const isHistory = isList(known.get('history')?.value)
  const found = isHistory && turnsOf(fields)?.length !== 0 ? withHistory(pair, fields) : plain(pair)
  if ('reason' in found) return found
  return { row: found, read: [answer, 'system', ...(isHistory ? (['history'] as const) : []), ...parts] }
}

const has = ({ known }: RowFields, name: FieldName) => {
  const field = known.get(name)
  return field !== undefined && !isAbsent(field.value)
}

function readPart({ known }: RowFields, name: FieldName): string | RowProblem {
  const field = known.get(name)
  return readText(field?.value, field?.key ?? name, { mayBeEmpty: false })
}

/** An object of plain values becomes the text that a typed answer with these values has. */
function readAnswer(fields: RowFields, name: FieldName): string | RowProblem {
  const value = fields.known.get(name)?.value
  return isObject(value) && Object.values(value).every(isPlain) ? JSON.stringify(value) : readPart(fields, name)
}

const isPlain = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

type Pair = { system: string; prompt: string; output: string }

/** A pair is plain text, so what a system message would say stands before the rest. */
const plain = ({ system, prompt, output }: Pair): DatasetRow => ({
  input: system === '' || prompt === '' ? system + prompt : `${system}\n\n${prompt}`,
  output,
})

/** Earlier turns as lists of two texts. Their answers are learned too. */
function withHistory({ system, prompt, output }: Pair, fields: RowFields): DatasetRow | RowProblem {
  const key = fields.known.get('history')?.key ?? 'history'
  const turns = turnsOf(fields)
  const isTurn = (turn: unknown): turn is [string, string] =>
    Array.isArray(turn) && turn.length === 2 && turn.every((text) => typeof text === 'string' && !text.includes('\0'))
  if (!turns?.every(isTurn)) return { field: key, reason: 'is not a list of turns such as ["question", "answer"]' }
  if (2 * turns.length > maxMessages - 3)
    return { field: key, reason: `has ${turns.length} turns; a conversation may have at most ${maxMessages} messages` }
  const messages = [...turns, [prompt, output] as const].flatMap(([asked, said]) => [
    { message: { role: 'user' as const, content: asked }, isLearned: false },
    { message: { role: 'assistant' as const, content: said }, isLearned: said !== '' },
  ])
  const first = { message: { role: 'system' as const, content: system }, isLearned: false }
  return conversationOf(key, system === '' ? messages : [first, ...messages], [])
}

/** A list, or the text of its JSON in a CSV file. */
function turnsOf({ known }: RowFields): unknown[] | null {
  const given = known.get('history')?.value
  const read = typeof given === 'string' ? parseRow(given) : { value: given }
  return 'value' in read && Array.isArray(read.value) ? (read.value as unknown[]) : null
}

/** The answer, and its prompt if the row has one. */
function pairOf(fields: RowFields): { prompt?: Name | undefined; answer?: Name | undefined } {
  for (const [prompt, answer] of pairs) if (has(fields, prompt) && has(fields, answer)) return { prompt, answer }
  const answer = answerNames.find((name) => has(fields, name))
  // Beside an instruction, the other prompts are copies that were made from it.
  const prompt = has(fields, 'instruction') ? 'input' : promptNames.find((name) => has(fields, name))
  return { answer, prompt: prompt && has(fields, prompt) ? prompt : undefined }
}

function readWhole({ key, value }: Field): ReadRow | RowProblem {
  const text = readText(value, key, { mayBeEmpty: false })
  return typeof text === 'string' ? { row: { input: '', output: text }, read: ['text'] } : text
}
