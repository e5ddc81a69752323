// Reads some rows of an upload, as the trainer would, with the reason of each bad one.
import { chatOf, plainChat, type ChatMessage } from '../domain/chat.ts'
import type {
  Columns,
  MarkedText,
  PreviewedMessage,
  PreviewedRow,
  ProposedColumns,
  RowPreview,
  TemplatedRow,
} from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { Storage } from '../storage/storage.ts'
import { readChatTemplate, type ChatTemplate } from './chat-template.ts'
import { methodOfFile } from './method-of-file.ts'
import { isProblem, readColumns, type Conversation, type DatasetRow } from './dataset-row.ts'
import { proposeColumns } from './propose-columns.ts'
import type { RawRow } from './raw-row.ts'
import { readDataset } from './read-dataset.ts'
import { rowReaderOf, type ReadRow } from './row-reader.ts'
import { isObject } from './row-fields.ts'
import { loadTokenizer, tokenizerOf, type TokenizerSource, type Tokenizers } from './token-sample.ts'

/** What is read to reach a page, after decompression: a second or two. */
export const reachBytes = 256 * 1024 * 1024
const maxTextCharacters = 10_000
/** The template writes at most so many characters for a page, in half a second. It writes the text before each answer. */
const maxTemplatedCharacters = 500_000
/** A template adds about so many characters to a message. */
const addedCharacters = 50
/** Columns that are named. */
const maxColumns = 100
const maxColumnCharacters = 256

/** Rows that show what a proposal would read. */
const proposedRows = 3

/**
 * `model`: the base model whose tokenizer and template are used. `pairs`: the system message with which pairs are shown as
 * chats; null shows them as plain text.
 */
export type Preview = {
  offset: number
  limit: number
  columns: Columns | null
  model: string
  pairs: { system: string | null } | null
  /** The method that the rows are read for; null for the one that takes the first rows of the file. */
  method: MethodName | null
}

/** @returns null when no object has this key */
export async function previewRows(
  storage: Storage,
  { key, model, pairs, ...page }: Preview & { key: string },
  { tokenizers }: { tokenizers: Tokenizers },
): Promise<RowPreview | null> {
  const method = page.method ?? (await methodOfFile(storage, key, page.columns))
  const file = await storage.read(key)
  if (!file) return null
  try {
    const tokenizer = tokenizerOf(tokenizers, model)
    const reading = { templatedOf: createTemplating(tokenizer), actingIn: actingIn(tokenizer), pairs }
    return await readPage(file, { ...page, method }, { read: rowReaderOf(page.columns, method), ...reading })
  } finally {
    // Nothing more is fetched.
    file.destroy()
  }
}

async function readPage(
  file: AsyncIterable<Buffer>,
  {
    offset,
    limit,
    columns: readColumnsOf,
    method,
  }: Pick<Preview, 'offset' | 'limit' | 'columns'> & { method: MethodName },
  reading: Reading,
): Promise<RowPreview> {
  const rows: PreviewedRow[] = []
  const found = createFoundColumns()
  let separator: string | null = null
  const answer = (next: number | null): RowPreview => {
    const isRead = readColumnsOf !== null || rows.some(({ error }) => error === null)
    const proposedColumns = isRead ? null : found.proposal()
    return { rows, method, columns: found.names(), readColumns: readColumnsOf, separator, proposedColumns, next }
  }
  let index = 0
  for await (const batch of readDataset(file, reachBytes, (sign) => (separator = sign)))
    for (const raw of batch) {
      if (index >= offset && rows.length === limit) return answer(index)
      if (index >= offset) {
        rows.push({ index, ...previewOf(raw, reading) })
        found.add(raw)
      }
      index += 1
    }
  return answer(null)
}

/** The columns of a page, and which of them may hold prompts and answers. */
function createFoundColumns() {
  const columns = new Set<string>()
  const first: { line: number; value: Record<string, unknown> }[] = []

  return {
    add(raw: RawRow) {
      if ('problem' in raw || !isObject(raw.value)) return
      if (first.length < proposedRows) first.push({ line: raw.line, value: raw.value })
      for (const name of Object.keys(raw.value))
        if (columns.size < maxColumns && name.length <= maxColumnCharacters) columns.add(name)
    },
    names: () => [...columns],
    proposal(): ProposedColumns | null {
      const proposed = proposeColumns(
        [...columns],
        first.map(({ value }) => value),
      )
      if (!proposed) return null
      const rows = first.flatMap(({ line, value }) => {
        const row = readColumns(value, proposed)
        return isProblem(row) ? [] : [{ line, input: beginning(row.input), output: beginning(row.output) }]
      })
      return { ...proposed, rows }
    },
  }
}

function previewOf(raw: RawRow, { read, templatedOf, actingIn, pairs }: Reading): Omit<PreviewedRow, 'index'> {
  const { line } = raw
  const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : read(raw.value)
  if (isProblem(row)) return { line, row: null, answers: null, ...none, specialTokens: [], error: row }
  const { input, output, conversation, answers } = row
  const texts = { input: beginning(input), output: beginning(output) }
  const { messages, isCut: areMessagesCut } = conversation ? messagesOf(conversation) : none
  const chat = conversation ?? (pairs && input !== '' ? asConversation(row, pairs) : null)
  const { templated, isCut: isTemplateCut } = chat ? templatedOf(chat) : none
  const said = answers && answers.list.map(({ said, isGood }) => ({ text: textOf(said), isGood }))
  const areTextsCut = [input, output, ...(said ?? []).map(({ text }) => text)].some(
    ({ length }) => length > maxTextCharacters,
  )
  const shown = said ? said.map(({ text, isGood }) => ({ text: beginning(text), isGood })) : null
  const isCut = areTextsCut || areMessagesCut || isTemplateCut
  const specialTokens = chat ? [] : actingIn(input)
  return { line, row: texts, answers: shown, messages, templated, specialTokens, isCut, error: null }
}

/** Calls of functions are part of the text. */
const textOf = (said: string | ChatMessage) =>
  typeof said === 'string' ? said : plainChat([said]).slice('assistant: '.length)

/** A pair as an evaluation asks for it, with the answer that it expects. */
function asConversation({ input, output }: DatasetRow, { system }: { system: string | null }): Conversation {
  const { messages } = chatOf(input, system)
  return { messages: [...messages, { role: 'assistant', content: output }], learned: [messages.length] }
}

type Reading = {
  read: ReadRow
  templatedOf: Templating
  actingIn: (input: string) => string[]
  pairs: Preview['pairs']
}
type Templating = (conversation: Conversation) => { templated: TemplatedRow | null; isCut: boolean }

const none = { messages: null, templated: null, isCut: false }

/**
 * Serves the rows of one page. The first conversation reads the template, as few data sets need it. A conversation with
 * functions gets none, because each model writes functions in its own format.
 */
function createTemplating(tokenizer: TokenizerSource | null): Templating {
  let left = maxTemplatedCharacters
  let template: ChatTemplate | null | undefined
  return (conversation) => {
    const { messages, learned, tools } = conversation
    if (!tokenizer || tools || messages.some(({ role, calls }) => role === 'tool' || calls)) return none
    const characters = messages.reduce((sum, { content }) => sum + content.length + addedCharacters, 0)
    left -= characters * learned.length
    if (left < 0) return none
    const model = tokenizer.name
    try {
      template ??= readChatTemplate(tokenizer)
      if (!template) return none
      const { lists, isCut } = cut(template.sequences(conversation))
      return { templated: { model, sequences: lists.filter(({ length }) => length > 0), error: null }, isCut }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return { templated: { model, sequences: [], error: reason }, isCut: false }
    }
  }
}

/** The special tokens that act in the input of a pair, each once. The first pair reads the tokenizer. */
function actingIn(tokenizer: TokenizerSource | null): (input: string) => string[] {
  return (input) => {
    const specialTokens = (tokenizer && loadTokenizer(tokenizer))?.specialTokens
    if (!specialTokens) return []
    const { text, special } = specialTokens.shown(specialTokens.swapped(input))
    return [...new Set(special.map(({ from, to }) => text.slice(from, to)))]
  }
}

/** Calls of functions are part of the text. */
function messagesOf({ messages, learned }: Conversation): { messages: PreviewedMessage[]; isCut: boolean } {
  const isLearned = new Set(learned)
  const whole = messages.map((message, index) => ({
    role: message.role,
    text: plainChat([message]).slice(`${message.role}: `.length),
    isLearned: isLearned.has(index),
  }))
  const { lists, isCut } = cut([whole])
  return { messages: lists.flat(), isCut }
}

/** All texts of the lists together are cut as one text is. An empty text takes the room of one character. */
function cut<T extends Partial<MarkedText> & { text: string }>(lists: T[][]): { lists: T[][]; isCut: boolean } {
  let [room, isCut] = [maxTextCharacters, false]
  const shown = lists.map((parts) =>
    parts.flatMap((part) => {
      const text = part.text.slice(0, room)
      isCut ||= room === 0 || text.length < part.text.length
      if (room === 0) return []
      room -= Math.max(1, text.length)
      const special = part.special?.filter(({ to }) => to <= text.length)
      return [{ ...part, text: text.toWellFormed(), ...(special && { special }) }]
    }),
  )
  return { lists: shown, isCut }
}

/** A pair of surrogates is not divided: half of one is no text. */
const beginning = (text: string) => text.slice(0, maxTextCharacters).toWellFormed()
