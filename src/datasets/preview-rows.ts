// Reads some rows of an upload, as the trainer would, with the reason of each bad one.
import { plainChat } from '../domain/chat.ts'
import type { PreviewedMessage, PreviewedRow, RowPreview } from '../domain/dataset-report.ts'
import type { Storage } from '../storage/storage.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { readDataset, type RawRow } from './read-dataset.ts'

/** What is read to reach a page, after decompression: a second or two. */
const reachBytes = 256 * 1024 * 1024
const maxTextCharacters = 10_000
/** Columns that are named. */
const maxColumns = 100
const maxColumnCharacters = 256

/** @returns null when no object has this key */
export async function previewRows(
  storage: Storage,
  key: string,
  { offset, limit }: { offset: number; limit: number },
): Promise<RowPreview | null> {
  const file = await storage.read(key)
  if (!file) return null
  try {
    return await readPage(file, offset, limit)
  } finally {
    // Nothing more is fetched.
    file.destroy()
  }
}

async function readPage(file: AsyncIterable<Buffer>, offset: number, limit: number): Promise<RowPreview> {
  const rows: PreviewedRow[] = []
  const columns = new Set<string>()
  let index = 0
  for await (const batch of readDataset(file, reachBytes))
    for (const raw of batch) {
      if (index >= offset && rows.length === limit) return { rows, columns: [...columns], next: index }
      if (index >= offset) {
        rows.push({ index, ...previewOf(raw) })
        addColumns(columns, raw)
      }
      index += 1
    }
  return { rows, columns: [...columns], next: null }
}

function addColumns(columns: Set<string>, raw: RawRow) {
  if ('problem' in raw || typeof raw.value !== 'object' || raw.value === null || Array.isArray(raw.value)) return
  for (const name of Object.keys(raw.value))
    if (columns.size < maxColumns && name.length <= maxColumnCharacters) columns.add(name)
}

function previewOf(raw: RawRow): Omit<PreviewedRow, 'index'> {
  const { line } = raw
  const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : readDatasetRow(raw.value)
  if (isProblem(row)) return { line, row: null, messages: null, isCut: false, error: row }
  const { input, output, conversation } = row
  const isCut = input.length > maxTextCharacters || output.length > maxTextCharacters
  const texts = { input: beginning(input), output: beginning(output) }
  return { line, row: texts, messages: conversation ? messagesOf(conversation) : null, isCut, error: null }
}

/** Calls of functions are part of the text. Long conversations are cut as texts are. */
function messagesOf({ messages, learned }: NonNullable<DatasetRow['conversation']>): PreviewedMessage[] {
  const isLearned = new Set(learned)
  let room = maxTextCharacters
  return messages.flatMap((message, index) => {
    if (room <= 0) return []
    const text = plainChat([message]).slice(`${message.role}: `.length, `${message.role}: `.length + room)
    room -= Math.max(1, text.length)
    return [{ role: message.role, text: text.toWellFormed(), isLearned: isLearned.has(index) }]
  })
}

/** A pair of surrogates is not divided: half of one is no text. */
const beginning = (text: string) => text.slice(0, maxTextCharacters).toWellFormed()
