// Validates a data set: reads, counts and measures every row, in constant memory.
import { hash } from 'node:crypto'
import type { BadRow, DatasetReport } from '../domain/dataset-report.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { createLengthHistogram } from './length-histogram.ts'
import { createFingerprintSet } from './fingerprint-set.ts'
import { readDataset, type RawRow } from './read-dataset.ts'
import { createTokenSample, type TokenizerSource } from './token-sample.ts'

const maxListedBadRows = 100

/** Equal rows have equal fingerprints: 128 bits in hex. */
export const fingerprint = ({ input, output }: DatasetRow) =>
  hash('sha256', `${input.length}:${input}${output}`, 'hex').slice(0, 32)

export type RowValidation = ReturnType<typeof createRowValidation>

function createRowValidation() {
  const badRows: BadRow[] = []
  const inputLength = createLengthHistogram()
  const outputLength = createLengthHistogram()
  const prints = createFingerprintSet()
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
        if (badRows.length < maxListedBadRows) badRows.push({ line: raw.line, ...row })
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

/** Reads the file once and reports all bad rows. `use` gets the rows before the first bad one, as nothing is trained on a bad file. */
export async function validateRows(
  file: AsyncIterable<Buffer>,
  use?: (row: DatasetRow, print: string) => void,
): Promise<RowValidation> {
  const check = createRowValidation()
  for await (const batch of readDataset(file))
    for (const raw of batch) {
      const good = check.add(raw)
      if (use && good && check.badRowCount() === 0) use(good.row, good.print)
    }
  return check
}
