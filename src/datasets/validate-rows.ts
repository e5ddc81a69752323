// Validates a data set: reads, counts and measures every row, in constant memory.
import { hash } from 'node:crypto'
import { rowReader, type BadRow, type Columns, type DatasetReport } from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import { createBadRowGroups } from './bad-row-groups.ts'
import { isProblem, type DatasetRow } from './dataset-row.ts'
import type { DatasetLimits, LimitWatch } from './dataset-limits.ts'
import { createLengthHistogram } from './length-histogram.ts'
import { createFingerprintSet } from './fingerprint-set.ts'
import { createJudgementCount } from './judgement-count.ts'
import { createFormCount } from './learned-form.ts'
import type { RawRow } from './raw-row.ts'
import { rowReaderOf } from './row-reader.ts'
import { readDataset } from './read-dataset.ts'
import { createTokenSample, tokenizerOf, type Tokenizers } from './token-sample.ts'
import { createUnreadFields } from './unread-fields.ts'

const maxListedBadRows = 100

/**
 * Equal rows have equal fingerprints: 128 bits in hex. Rows of answers and of prompts are equal if their prompts are, so that no
 * prompt is both trained and evaluated on.
 */
export const fingerprint = ({ input, output, answers }: DatasetRow) =>
  hash('sha256', `${input.length}:${input}${answers ? '' : output}`, 'hex').slice(0, 32)

type RowValidation = ReturnType<typeof createRowValidation>

function createRowValidation(columns: Columns | null, method: MethodName, needs: readonly ItemNeed[]) {
  const read = rowReaderOf(columns, method, needs)
  const badRows: BadRow[] = []
  const badRowGroups = createBadRowGroups()
  let unreadRest: BadRow | null = null
  const inputLength = createLengthHistogram()
  const outputLength = createLengthHistogram()
  const prints = createFingerprintSet()
  const tokens = createTokenSample()
  const unreadFields = createUnreadFields()
  const forms = createFormCount()
  const judgements = createJudgementCount()
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
      const unread: string[] = []
      const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : read(raw.value, unread)
      if (isProblem(row)) {
        badRowCount++
        if (row.reason === 'is empty') emptyOutputCount++
        const bad = { line: raw.line, ...row }
        if (badRows.length < maxListedBadRows) badRows.push(bad)
        badRowGroups.add(bad)
        if ('problem' in raw && raw.endsReading) unreadRest = bad
        return null
      }
      if (unread.length > 0) unreadFields.add(unread, raw.line)
      const print = fingerprint(row)
      if (!prints.add(print)) duplicateCount++
      if (!row.item && row.output.trim() === '') emptyOutputCount++
      inputLength.add(row.input.length)
      outputLength.add(row.output.length)
      tokens.add(row)
      forms.add(row)
      judgements.add(row)
      return { row, print }
    },

    report: (of: { etag: string; sizeBytes: number }, { model, tokenizers }: Counting = notCounted): DatasetReport => ({
      ...of,
      ...(columns && { columns }),
      ...(method !== 'supervised' && { method }),
      reader: rowReader,
      rowCount,
      badRowCount,
      badRows,
      badRowGroups: badRowGroups.list(),
      unreadRest,
      unreadFields: unreadFields.list(),
      duplicateCount,
      emptyOutputCount,
      inputLength: inputLength.percentiles(),
      outputLength: outputLength.percentiles(),
      tokenLength: tokens.measure(tokenizerOf(tokenizers, model), rowCount - badRowCount),
      countedFor: model,
      form: forms.form(),
      ...(method === 'kto' && { judged: judgements.counts() }),
      checkedAt: new Date().toISOString(),
    }),
  }
}

/** The base model whose tokens are counted. */
type Counting = { model: string; tokenizers: Tokenizers }
const notCounted: Counting = { model: '', tokenizers: [] }

type Reading = {
  limits: DatasetLimits
  watch: LimitWatch
  columns: Columns | null
  /** The method that the rows are for; supervised when absent. */
  method?: MethodName | undefined
  /** The parts of an item that the job's graders read. */
  needs?: readonly ItemNeed[] | undefined
  /** Whether good rows are used although others are bad. */
  isSkipping?: boolean
  /** Gets the good rows before the first bad one, or all of them. Reading waits for its promise. */
  use?: ((row: DatasetRow, print: string, line: number) => Promise<void> | undefined | void) | undefined
}

/** Reads the file once and reports all bad rows. Stops at the limit of time, which counts as a bad row. */
export async function validateRows(
  file: AsyncIterable<Buffer>,
  { limits, watch, columns, method = 'supervised', needs = [], use, isSkipping = false }: Reading,
): Promise<RowValidation> {
  const check = createRowValidation(columns, method, needs)
  for await (const batch of readDataset(file, limits.unpackedBytes)) {
    for (const raw of batch) {
      const good = check.add(raw)
      if (!use || !good || (check.badRowCount() > 0 && !isSkipping)) continue
      const waiting = use(good.row, good.print, raw.line)
      if (waiting) await waiting
    }
    const problem = watch.timeProblem()
    if (problem === null) continue
    check.add({ line: batch.at(-1)?.line ?? 1, problem, endsReading: true })
    break
  }
  return check
}
