// Chooses the rows of an evaluation and writes them, in chunks, to a key that no issued URL can write.
import { Readable } from 'node:stream'
import { layOut, type ChunkLocation } from '../domain/chunk-layout.ts'
import type { Chat } from '../domain/chat.ts'
import { evaluationDataProblem, skippedNote, type Columns, type DatasetReport } from '../domain/dataset-report.ts'
import type { EvaluatedRow, SkippedRows } from '../domain/model-evaluation.ts'
import type { Storage } from '../storage/storage.ts'
import { createBadRowGroups } from './bad-row-groups.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits } from './dataset-limits.ts'
import type { Conversation, DatasetRow } from './dataset-row.ts'
import { validateRows } from './validate-rows.ts'

/** `isSkipping`: whether rows that cannot be evaluated are left out. */
export type Sample = { dataKey: string; columns: Columns | null; maxRows: number; key: string; isSkipping: boolean }
/** `areChats`: conversations are among the rows. */
export type SampledRows = {
  rowCount: number
  sizeBytes: number
  chunks: ChunkLocation[]
  areChats: boolean
  skipped: SkippedRows
}

/** Characters of the chosen rows, which are in memory at once. */
const maxCharacters = 16 * 1024 * 1024

/** Reads every row, so that a bad one is found. @throws DatasetInvalidError */
export async function sampleRows(
  storage: Storage,
  { dataKey, columns, maxRows, key, isSkipping }: Sample,
  { limits }: { limits: DatasetLimits },
): Promise<SampledRows> {
  const file = await storage.read(dataKey)
  if (!file) throw new DatasetInvalidError('The data set no longer exists: upload it again.')
  const selection = createRowSelection(maxRows)
  const unfit = createBadRowGroups()
  const watch = createLimitWatch(limits)
  const check = await validateRows(file as AsyncIterable<Buffer>, {
    limits,
    watch,
    columns,
    // All rows are read, so that the report counts every one that is not fit.
    isSkipping: true,
    use(row, print, line) {
      const reason = unfitReason(row)
      if (reason === null) selection.add(row, print)
      else unfit.add({ line, field: 'row', reason })
    },
  })
  const report = withUnfit(check.report({ etag: '', sizeBytes: 0 }), unfit.list())
  const problem = evaluationDataProblem(report, { isSkipping })
  if (problem !== null) throw new DatasetInvalidError(problem)
  const rows = selection.rows()
  const { object, chunks } = layOut(rows)
  await storage.write(key, Readable.from([object], { objectMode: false }))
  const areChats = rows.some(({ chat }) => chat !== undefined)
  const skipped = { count: report.badRowCount, note: skippedNote(report) }
  return { rowCount: rows.length, sizeBytes: object.length, chunks, areChats, skipped }
}

/** @returns why no evaluation can read a row that training reads, or null when an evaluation can */
function unfitReason({ input, conversation }: DatasetRow): string | null {
  if (conversation?.messages.at(-1)?.calls)
    return 'ends in a call of a function, which only the evaluation of a training job compares'
  return input === '' ? 'has no input to ask with' : null
}

/** Rows that are not fit count as bad rows. */
function withUnfit(report: DatasetReport, groups: DatasetReport['badRowGroups']): DatasetReport {
  const badRowGroups = [...report.badRowGroups, ...groups].toSorted((a, b) => (a.lines[0] ?? 0) - (b.lines[0] ?? 0))
  const badRowCount = groups.reduce((sum, { rowCount }) => sum + rowCount, report.badRowCount)
  return { ...report, badRowGroups, badRowCount }
}

type Kept = { print: string; place: number; row: EvaluatedRow }

/** Keeps the different rows with the smallest fingerprints: the same ones whatever their order in the file. */
export function createRowSelection(maxRows: number) {
  /** In the order of the fingerprints. */
  const kept: Kept[] = []
  let place = 0
  let characters = 0

  return {
    add({ input, output, conversation }: DatasetRow, print: string) {
      place++
      const at = firstFrom(kept, print)
      if (at >= maxRows || kept[at]?.print === print) return
      const row = { input, expected: output, ...(conversation && { chat: chatBefore(conversation) }) }
      kept.splice(at, 0, { print, place, row })
      characters += charactersOf(row)
      const dropped = kept.length > maxRows ? kept.pop() : undefined
      if (dropped) characters -= charactersOf(dropped.row)
      if (characters > maxCharacters)
        throw new DatasetInvalidError('The chosen rows have more than 16 million characters. Lower max_rows.')
    },
    /** In the order of the file. */
    rows: (): EvaluatedRow[] => kept.toSorted((a, b) => a.place - b.place).map(({ row }) => row),
  }
}

/** A conversation holds its texts twice. */
const charactersOf = ({ input, expected, chat }: EvaluatedRow) => (chat ? 2 : 1) * input.length + expected.length

/** The messages that the last answer follows. */
const chatBefore = ({ messages, tools }: Conversation): Chat => ({
  messages: messages.slice(0, -1),
  ...(tools && { tools: tools.map((tool) => tool.function) }),
})

/** @returns the first position whose fingerprint is not smaller */
function firstFrom(kept: readonly Kept[], print: string): number {
  let [low, high] = [0, kept.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((kept[middle] as Kept).print < print) low = middle + 1
    else high = middle
  }
  return low
}
