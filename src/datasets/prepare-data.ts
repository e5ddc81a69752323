// Turns an upload into the data of one job: copies it, validates every row, sets evaluation rows aside, and writes the rows to
// keys that no issued URL can write.
import { randomUUID } from 'node:crypto'
import {
  invalidDataReason,
  rowReader,
  trainingDataProblem,
  type BadRow,
  type Columns,
  type DatasetReport,
} from '../domain/dataset-report.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { DataSplit, PreparedData, TrainingSpec } from '../domain/training-job.ts'
import type { MethodName } from '../domain/method-table.ts'
import { itemNeedsOf, type ItemNeed } from '../domain/reward-task.ts'
import { methodNameOf } from '../domain/training-method.ts'
import type { Storage } from '../storage/storage.ts'
import { validateRows, fingerprint } from './validate-rows.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits, type LimitWatch } from './dataset-limits.ts'
import { isProblem, type DatasetRow } from './dataset-row.ts'
import { createJudgementCount } from './judgement-count.ts'
import { createSystemMessageVote } from './learned-form.ts'
import { readDataset } from './read-dataset.ts'
import { rowReaderOf } from './row-reader.ts'
import { createEvaluationSelection } from './select-evaluation-rows.ts'
import type { Tokenizers } from './token-sample.ts'
import { openLineWriter, openRowWriter } from './write-rows.ts'

const trainingData = 'training data'
/** Number of training rows to evaluate on when there are too few rows to set any aside. */
const evaluatedTrainingRows = 10

export type DataOfJob = {
  jobId: number
  spec: Pick<TrainingSpec, 'dataKey' | 'evaluationKey' | 'baseModel' | 'skipBadRows' | 'method'>
  columns: Columns | null
  evaluationColumns: Columns | null
}
/** `evaluation`: the report on the caller's evaluation rows. */
export type CheckedData = { prepared: PreparedData; report: DatasetReport; evaluation: DatasetReport | null }

type PrepareSettings = { limits: DatasetLimits; tokenizers: Tokenizers }

/** Work on the data of one job, within its limits. */
type Work = {
  storage: Storage
  limits: DatasetLimits
  watch: LimitWatch
  method: MethodName
  needs: readonly ItemNeed[]
}

/**
 * May run twice: each call writes under its own keys.
 * @throws DatasetInvalidError
 */
export async function prepareData(
  storage: Storage,
  { jobId, spec, columns, evaluationColumns }: DataOfJob,
  { limits, tokenizers }: PrepareSettings,
): Promise<CheckedData> {
  const method = methodNameOf(spec)
  const needs = spec.method?.task ? itemNeedsOf(spec.method.task) : []
  const work: Work = { storage, limits, watch: createLimitWatch(limits), method, needs }
  const unique = randomUUID()
  const key = (name: string) => storageKeys.prepared(jobId, unique, name)
  const pinned = key('source')
  try {
    const uploaded = await pin(storage, spec.dataKey, pinned)
    const selection = createEvaluationSelection()
    const systemMessages = createSystemMessageVote()
    const judgements = createJudgementCount()
    const isSkipping = spec.skipBadRows ?? false
    const rows = await validateRows(await open(storage, pinned, trainingData), {
      ...{ limits, watch: work.watch, columns, method, needs, isSkipping },
      use(row, print) {
        selection.add(print)
        judgements.add(row)
        systemMessages.add(row)
      },
    })
    const report = rows.report(uploaded, { model: spec.baseModel.name, tokenizers })
    const problem = trainingDataProblem(report, { isSkipping }) ?? (method === 'kto' ? judgements.problem() : null)
    if (problem !== null) throw new DatasetInvalidError(problem, report)
    const setAside = spec.evaluationKey === null ? selection.selected() : new Set<string>()
    const { evaluationKey } = spec
    const given = evaluationKey === null ? null : { key: evaluationKey, columns: evaluationColumns }
    const use = (row: DatasetRow) => systemMessages.confirm(row)
    const input = { pinned, columns, setAside, given, hasBadRows: report.badRowCount > 0, key, use }
    const { files, evaluation } = await split(work, input)
    const read = {
      ...{ sourceEtag: uploaded.etag, reader: rowReader },
      ...(columns && { columns }),
      ...(spec.method && { method }),
    }
    const learned = report.form && { form: report.form, systemMessage: systemMessages.winner() }
    return { prepared: { ...files, ...read, ...(learned && { learned }) }, report, evaluation }
  } finally {
    await storage.remove([pinned])
  }
}

/** The account's URL can still write to the upload, so only the copy is used. @returns what was copied */
async function pin(storage: Storage, from: string, to: string) {
  for (;;) {
    const before = await storage.stat(from)
    if (!before) throw new DatasetInvalidError('The uploaded data set no longer exists: upload it again.')
    await storage.copy(from, to)
    if ((await storage.stat(from))?.etag === before.etag) return before
  }
}

type SplitInput = {
  pinned: string
  columns: Columns | null
  /** Whether rows are left out. They are listed in an object of their own. */
  hasBadRows: boolean
  setAside: Set<string>
  /** The evaluation rows of the caller. */
  given: { key: string; columns: Columns | null } | null
  key: (name: string) => string
  /** Gets each row of the training data. */
  use: (row: DatasetRow) => void
}

type SplitData = { files: Pick<PreparedData, 'train' | 'evaluation' | 'skipped'>; evaluation: DatasetReport | null }

async function split(
  work: Work,
  { pinned, columns, hasBadRows, setAside, given, key, use }: SplitInput,
): Promise<SplitData> {
  const train = openRowWriter(work.storage, key('train.jsonl'))
  const evaluation = openRowWriter(work.storage, key('evaluation.jsonl'))
  const skipped = hasBadRows ? openLineWriter(work.storage, key('skipped-rows.jsonl')) : null
  const writers = [train, evaluation, ...(skipped ? [skipped] : [])]
  const writtenBytes = () => writers.reduce((sum, { sizeBytes }) => sum + sizeBytes(), 0)
  const skip = skipped ? (row: BadRow) => skipped.write(JSON.stringify(row)) : null
  try {
    const isHeldOut = given !== null || setAside.size > 0
    await eachRow(work, { key: pinned, name: trainingData, columns, skip, writtenBytes }, (row) => {
      use(row)
      const isSetAside = setAside.size > 0 && setAside.has(fingerprint(row))
      if (isSetAside) return evaluation.write(row)
      const isEvaluated = !isHeldOut && evaluation.rowCount() < evaluatedTrainingRows
      return isEvaluated ? both(evaluation.write(row), train.write(row)) : train.write(row)
    })
    let report: DatasetReport | null = null
    if (given !== null) {
      const source = { ...given, name: 'evaluation data' }
      report = await checkEvaluation(work, source)
      await eachRow(work, { ...source, skip: null, writtenBytes }, (row) => evaluation.write(row))
    }
    const split: DataSplit = isHeldOut ? 'held_out' : 'train'
    const files = {
      train: await train.close(),
      evaluation: { ...(await evaluation.close()), split },
      ...(skipped && { skipped: await skipped.close() }),
    }
    return { files, evaluation: report }
  } catch (error) {
    await Promise.all(writers.map((writer) => writer.abandon()))
    throw error
  }
}

async function both(first: Promise<void> | undefined, second: Promise<void> | undefined) {
  await first
  await second
}

/** No row is left out here: the models are compared on what the caller gave. */
async function checkEvaluation(
  { storage, ...bounds }: Work,
  { key, name, columns }: { key: string; name: string; columns: Columns | null },
): Promise<DatasetReport> {
  const rows = await validateRows(await open(storage, key, name), { ...bounds, columns })
  const report = rows.report({ etag: '', sizeBytes: 0 })
  const problem = invalidDataReason(name, report)
  if (problem !== null) throw new DatasetInvalidError(problem)
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
  use: (row: DatasetRow) => Promise<void> | undefined,
) {
  const read = rowReaderOf(columns, method, needs)
  for await (const batch of readDataset(await open(storage, key, name), limits.unpackedBytes))
    for (const raw of batch) {
      const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : read(raw.value)
      if (isProblem(row) && !skip) throw new Error('a validated row is bad: its file has changed')
      const waiting = isProblem(row) ? skip?.({ line: raw.line, ...row }) : use(row)
      if (waiting === undefined) continue
      await waiting
      watch.requireRoom({ name, line: raw.line, writtenBytes: writtenBytes() })
    }
}

async function open(storage: Storage, key: string, name: string): Promise<AsyncIterable<Buffer>> {
  const file = await storage.read(key)
  if (!file) throw new DatasetInvalidError(`The ${name} no longer exists: upload it again.`)
  return file as AsyncIterable<Buffer>
}
