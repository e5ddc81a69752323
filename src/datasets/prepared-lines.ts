// Reads some rows of an upload as the lines that a trainer would get, to be shown as tokens.
import type { Columns } from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import type { PreparedRow, PreparedRows } from '../domain/row-tokens.ts'
import type { Storage } from '../storage/storage.ts'
import { isProblem } from './dataset-row.ts'
import { reachBytes } from './preview-rows.ts'
import type { RawRow } from './raw-row.ts'
import { readDataset } from './read-dataset.ts'
import { rowReaderOf, type ReadRow } from './row-reader.ts'
import { createUnreadFields } from './unread-fields.ts'
import { linesOf } from './write-rows.ts'

/** Encoding this much takes a second. The template writes a conversation once for each of its answers. */
const maxCharacters = 1_000_000
const maxRowCharacters = 500_000

export type LinesWanted = {
  key: string
  columns: Columns | null
  method: MethodName
  /** The parts of an item that the job's graders read. */
  needs?: readonly ItemNeed[]
  offset: number
  limit: number
}

/** @returns null when no object has this key */
export async function prepareLines(
  storage: Storage,
  { key, columns, method, needs, offset, limit }: LinesWanted,
): Promise<PreparedRows | null> {
  const file = await storage.read(key)
  if (!file) return null
  const read = rowReaderOf(columns, method, needs)
  const rows: PreparedRow[] = []
  const unreadFields = createUnreadFields()
  const answer = (isEnd: boolean) => ({ rows, isEnd, unreadFields: unreadFields.list() })
  let [index, characters] = [0, 0]
  try {
    for await (const batch of readDataset(file as AsyncIterable<Buffer>, reachBytes))
      for (const raw of batch) {
        if (index++ < offset) continue
        if (rows.length === limit || characters > maxCharacters) return answer(false)
        const unread: string[] = []
        const { row, cost } = prepared(raw, (value) => read(value, unread))
        if (row.error === null) unreadFields.add(unread, row.line)
        characters += cost
        rows.push(row)
      }
    return answer(true)
  } finally {
    // Nothing more is fetched.
    file.destroy()
  }
}

/** `cost`: the characters to encode. */
function prepared(raw: RawRow, read: ReadRow): { row: PreparedRow; cost: number } {
  const { line } = raw
  const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : read(raw.value)
  if (isProblem(row)) return { row: { line, text: null, error: row }, cost: 0 }
  const text = linesOf(row).join('\n')
  const { learned = [], muted = [] } = row.conversation ?? {}
  const cost = text.length * Math.max(1, learned.length + muted.length)
  const isTooLong = cost > maxRowCharacters
  return { row: { line, text: isTooLong ? null : text, error: null }, cost: isTooLong ? 0 : cost }
}
