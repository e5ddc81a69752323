// Writes checked rows for a job: those to train on, those to evaluate on, and the list of those that are left out.
import type { PreparedSource } from '../domain/data-sources.ts'
import {
  invalidDataReason,
  trainingDataName,
  type BadRow,
  type Columns,
  type DatasetReport,
} from '../domain/dataset-report.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { ItemNeed } from '../domain/reward-task.ts'
import type { DataSplit, PreparedData } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import type { DatasetLimits, LimitWatch } from './dataset-limits.ts'
import { isProblem, type DatasetRow } from './dataset-row.ts'
import { openPreparedWriter, type RowPlace } from './prepared-writer.ts'
import { readDataset } from './read-dataset.ts'
import { rowReaderOf } from './row-reader.ts'
import { fingerprint, validateRows } from './validate-rows.ts'
import { openLineWriter } from './write-rows.ts'

/** Number of training rows to evaluate on when there are too few rows to set any aside. */
const evaluatedTrainingRows = 10

/** Work on the data of one job, within its limits. */
export type Work = {
  storage: Storage
  limits: DatasetLimits
  watch: LimitWatch
  method: MethodName
  /** The job's graders read these parts of an item. */
  needs: readonly ItemNeed[]
}

/** The copy of a data set. `set`: null for the only one of a job. */
export type SourceRows = { pinned: string; columns: Columns | null; set: RowPlace['set'] }

type SplitInput = {
  sources: readonly SourceRows[]
  /** Whether rows are left out. They are listed in an object of their own. */
  hasBadRows: boolean
  setAside: Set<string>
  /** The evaluation rows of the caller. */
  given: { key: string; columns: Columns | null } | null
  key: (name: string) => string
  /** Gets each row of the training data. */
  use: (row: DatasetRow) => void
}

/** `counts`: of each data set. */
type SplitData = {
  files: Pick<PreparedData, 'train' | 'evaluation' | 'skipped'>
  evaluation: DatasetReport | null
  counts: Pick<PreparedSource, 'trainRows' | 'heldOutRows'>[]
}

export async function splitRows(
  work: Work,
  { sources, hasBadRows, setAside, given, key, use }: SplitInput,
): Promise<SplitData> {
  const train = openPreparedWriter(work.storage, key('train.jsonl'))
  const evaluation = openPreparedWriter(work.storage, key('evaluation.jsonl'))
  const skipped = hasBadRows ? openLineWriter(work.storage, key('skipped-rows.jsonl')) : null
  const writers = [train, evaluation, ...(skipped ? [skipped] : [])]
  const writtenBytes = () => writers.reduce((sum, { sizeBytes }) => sum + sizeBytes(), 0)
  const counts: SplitData['counts'] = []
  try {
    const isHeldOut = given !== null || setAside.size > 0
    for (const [index, { pinned, columns, set }] of sources.entries()) {
      const skip = skipped ? (row: BadRow) => skipped.write(JSON.stringify({ dataset_id: set?.name, ...row })) : null
      const before = { trainRows: train.rowCount(), heldOutRows: evaluation.rowCount() }
      const mostEvaluated = Math.ceil((evaluatedTrainingRows * (index + 1)) / sources.length)
      const source = { key: pinned, name: trainingDataName(set ? { set: set.name } : {}), columns, skip, writtenBytes }
      await eachRow(work, source, (row, line) => {
        use(row)
        const place = { line, set }
        const isSetAside = setAside.size > 0 && setAside.has(fingerprint(row))
        if (isSetAside) return evaluation.write(row, place)
        const isEvaluated = !isHeldOut && evaluation.rowCount() < mostEvaluated
        return isEvaluated ? both(evaluation.write(row, place), train.write(row, place)) : train.write(row, place)
      })
      const heldOutRows = isHeldOut ? evaluation.rowCount() - before.heldOutRows : 0
      counts.push({ trainRows: train.rowCount() - before.trainRows, heldOutRows })
    }
    const report = given && (await writeGiven(work, given, { evaluation, writtenBytes }))
    const split: DataSplit = isHeldOut ? 'held_out' : 'train'
    const files = {
      train: await train.close(),
      evaluation: { ...(await evaluation.close()), split },
      ...(skipped && { skipped: await skipped.close() }),
    }
    return { files, evaluation: report, counts }
  } catch (error) {
    await Promise.all(writers.map((writer) => writer.abandon()))
    throw error
  }
}

async function both(first: Promise<unknown> | undefined, second: Promise<unknown> | undefined) {
  await first
  await second
}

type Writing = { evaluation: ReturnType<typeof openPreparedWriter>; writtenBytes: () => number }

/** Writes the evaluation rows of the caller. No row is left out: the models are compared on what the caller gave. */
async function writeGiven(
  work: Work,
  given: { key: string; columns: Columns | null },
  { evaluation, writtenBytes }: Writing,
): Promise<DatasetReport> {
  const source = { ...given, name: 'evaluation data' }
  const { storage, ...bounds } = work
  const rows = await validateRows(await openRows(storage, given.key, source.name), {
    ...bounds,
    columns: given.columns,
  })
  const report = rows.report({ etag: '', sizeBytes: 0 })
  const problem = invalidDataReason(source.name, report)
  if (problem !== null) throw new DatasetInvalidError(problem)
  await eachRow(work, { ...source, skip: null, writtenBytes }, (row, line) =>
    evaluation.write(row, { line, set: null }),
  )
  return report
}

type EachInput = {
  key: string
  name: string
  columns: Columns | null
  /** Gets the bad rows; null where the check has found none. */
  skip: ((row: BadRow) => Promise<void> | undefined) | null
  writtenBytes: () => number
}

/** Reads a file whose rows were validated before. @throws DatasetInvalidError at a limit */
async function eachRow(
  { storage, limits, watch, method, needs }: Work,
  { key, name, columns, skip, writtenBytes }: EachInput,
  use: (row: DatasetRow, line: number) => Promise<unknown> | undefined,
) {
  const read = rowReaderOf(columns, method, needs)
  for await (const batch of readDataset(await openRows(storage, key, name), limits.unpackedBytes))
    for (const raw of batch) {
      const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : read(raw.value)
      if (isProblem(row) && !skip) throw new Error('a validated row is bad: its file has changed')
      const waiting = isProblem(row) ? skip?.({ line: raw.line, ...row }) : use(row, raw.line)
      if (waiting === undefined) continue
      await waiting
      watch.requireRoom({ name, line: raw.line, writtenBytes: writtenBytes() })
    }
}

/** @throws DatasetInvalidError when there is no such object */
export async function openRows(storage: Storage, key: string, name: string): Promise<AsyncIterable<Buffer>> {
  const file = await storage.read(key)
  if (!file) throw new DatasetInvalidError(`The ${name} no longer exists: upload it again.`)
  return file as AsyncIterable<Buffer>
}
