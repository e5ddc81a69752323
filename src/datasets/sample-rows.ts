// Chooses the rows of an evaluation and writes them, in chunks, to a key that no issued URL can write.
import { Readable } from 'node:stream'
import { layOut, type ChunkLocation } from '../domain/chunk-layout.ts'
import type { Chat } from '../domain/chat.ts'
import { invalidDataReason, type Columns } from '../domain/dataset-report.ts'
import type { EvaluatedRow } from '../domain/model-evaluation.ts'
import type { Storage } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits } from './dataset-limits.ts'
import type { Conversation, DatasetRow } from './dataset-row.ts'
import { validateRows } from './validate-rows.ts'

export type Sample = { dataKey: string; columns: Columns | null; maxRows: number; key: string }
/** `areChats`: conversations are among the rows. */
export type SampledRows = { rowCount: number; sizeBytes: number; chunks: ChunkLocation[]; areChats: boolean }

/** Characters of the chosen rows, which are in memory at once. */
const maxCharacters = 16 * 1024 * 1024

/** Reads every row, so that a bad one is found. @throws DatasetInvalidError */
export async function sampleRows(
  storage: Storage,
  { dataKey, columns, maxRows, key }: Sample,
  { limits }: { limits: DatasetLimits },
): Promise<SampledRows> {
  const file = await storage.read(dataKey)
  if (!file) throw new DatasetInvalidError('The data set no longer exists: upload it again.')
  const selection = createRowSelection(maxRows)
  const watch = createLimitWatch(limits)
  const check = await validateRows(file as AsyncIterable<Buffer>, {
    limits,
    watch,
    columns,
    use: (row, print) => selection.add(row, print),
  })
  const problem = invalidDataReason('data set', check.report({ etag: '', sizeBytes: 0 }))
  if (problem !== null) throw new DatasetInvalidError(problem)
  const rows = selection.rows()
  const { object, chunks } = layOut(rows)
  await storage.write(key, Readable.from([object], { objectMode: false }))
  const areChats = rows.some(({ chat }) => chat !== undefined)
  return { rowCount: rows.length, sizeBytes: object.length, chunks, areChats }
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
      if (conversation?.messages.at(-1)?.calls)
        throw new DatasetInvalidError(
          `The last answer of row ${place} calls a function. Evaluations read conversations whose last answer is text.`,
        )
      if (input === '')
        throw new DatasetInvalidError(
          `Row ${place} has no input, as a row of text has none. Evaluations read rows with an input and an output, and conversations.`,
        )
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
