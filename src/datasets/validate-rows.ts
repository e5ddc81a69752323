// The check of a data set: every row is read, counted and measured, in constant memory.
import { hash } from 'node:crypto'
import type { BadRow, DatasetReport } from '../domain/dataset-report.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { createLengthHistogram } from './length-histogram.ts'
import { createPrintSet } from './fingerprint-set.ts'
import { readDataset, type RawRow } from './read-dataset.ts'
import { createTokenSample, type TokenizerSource } from './token-sample.ts'

const badRowsListed = 100

/** Equal rows have equal fingerprints: 128 bits in hex. */
export const fingerprint = ({ input, output }: DatasetRow) =>
  hash('sha256', `${input.length}:${input}${output}`, 'hex').slice(0, 32)

export type RowCheck = ReturnType<typeof createRowCheck>

/** Counts what it is given; `use` gets the rows as long as all of them were good. */
function createRowCheck() {
  const badRows: BadRow[] = []
  const inputLength = createLengthHistogram()
  const outputLength = createLengthHistogram()
  const prints = createPrintSet()
  const tokens = createTokenSample()
  let rowCount = 0
  let badRowCount = 0
  let duplicateCount = 0
  let emptyOutputCount = 0

  return {
    rowCount: () => rowCount,
    badRowCount: () => badRowCount,

    /** @returns the row with its fingerprint, or null when it is bad */
    add(raw: RawRow): { row: DatasetRow; print: string } | null {
      rowCount++
      const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : readDatasetRow(raw.value)
      if (isProblem(row)) {
        badRowCount++
        if (row.reason === 'is empty') emptyOutputCount++
        if (badRows.length < badRowsListed) badRows.push({ line: raw.line, ...row })
        return null
      }
      const print = fingerprint(row)
      if (!prints.add(print)) duplicateCount++
      if (row.output.trim() === '') emptyOutputCount++
      inputLength.add(row.input.length)
      outputLength.add(row.output.length)
      tokens.add(row)
      return { row, print }
    },

    report: (of: { etag: string; sizeBytes: number }, tokenizer: TokenizerSource | null): DatasetReport => ({
      ...of,
      rowCount,
      badRowCount,
      badRows,
      duplicateCount,
      emptyOutputCount,
      inputLength: inputLength.percentiles(),
      outputLength: outputLength.percentiles(),
      tokenLength: tokens.measure(tokenizer),
      checkedAt: new Date().toISOString(),
    }),
  }
}

/** Reads the file once. Once a row is bad nothing will be trained on it, but the rest is still checked, to report all at once. */
export async function checkRows(
  file: AsyncIterable<Buffer>,
  use?: (row: DatasetRow, print: string) => void,
): Promise<RowCheck> {
  const check = createRowCheck()
  for await (const batch of readDataset(file))
    for (const raw of batch) {
      const good = check.add(raw)
      if (use && good && check.badRowCount() === 0) use(good.row, good.print)
    }
  return check
}
