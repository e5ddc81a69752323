// Turns an upload into the data of one job: copies it, validates every row, sets evaluation rows aside, and writes the rows to
// keys that no issued URL can write.
import { randomUUID } from 'node:crypto'
import { invalidDataReason, rowReader, type DatasetReport } from '../domain/dataset-report.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { DataSplit, PreparedData, TrainingSpec } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import { validateRows, fingerprint, type Counting } from './validate-rows.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits, type LimitWatch } from './dataset-limits.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { createSystemMessageVote } from './learned-form.ts'
import { readDataset } from './read-dataset.ts'
import { createEvaluationSelection } from './select-evaluation-rows.ts'
import type { Tokenizers } from './token-sample.ts'
import { openRowWriter } from './write-rows.ts'

/** Number of training rows to evaluate on when there are too few rows to set any aside. */
const evaluatedTrainingRows = 10

export type DataOfJob = { jobId: number; spec: Pick<TrainingSpec, 'dataKey' | 'evaluationKey' | 'baseModel'> }
/** `evaluation`: the report on the caller's evaluation rows. */
export type CheckedData = { prepared: PreparedData; report: DatasetReport; evaluation: DatasetReport | null }

type PrepareSettings = { limits: DatasetLimits; tokenizers: Tokenizers }

/** Work on the data of one job, within its limits. */
type Work = { storage: Storage; limits: DatasetLimits; watch: LimitWatch }

/**
 * May run twice: each call writes under its own keys.
 * @throws DatasetInvalidError
 */
export async function prepareData(
  storage: Storage,
  { jobId, spec }: DataOfJob,
  { limits, tokenizers }: PrepareSettings,
): Promise<CheckedData> {
  const work: Work = { storage, limits, watch: createLimitWatch(limits) }
  const unique = randomUUID()
  const key = (name: string) => storageKeys.prepared(jobId, unique, name)
  const pinned = key('source')
  try {
    const uploaded = await pin(storage, spec.dataKey, pinned)
    const selection = createEvaluationSelection()
    const systemMessages = createSystemMessageVote()
    const report = await check(work, {
      ...{
        key: pinned,
        name: 'training data',
        of: { ...uploaded, counting: { model: spec.baseModel.name, tokenizers } },
      },
      use(row, print) {
        selection.add(print)
        systemMessages.add(row)
      },
    })
    const setAside = spec.evaluationKey === null ? selection.selected() : new Set<string>()
    const use = (row: DatasetRow) => systemMessages.confirm(row)
    const { files, evaluation } = await split(work, { pinned, setAside, evaluationKey: spec.evaluationKey, key, use })
    const learned = report.form && { form: report.form, systemMessage: systemMessages.winner() }
    const prepared = { ...files, sourceEtag: uploaded.etag, reader: rowReader, ...(learned && { learned }) }
    return { prepared, report, evaluation }
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
  setAside: Set<string>
  evaluationKey: string | null
  key: (name: string) => string
  /** Gets each row of the training data. */
  use: (row: DatasetRow) => void
}

type SplitData = { files: Pick<PreparedData, 'train' | 'evaluation'>; evaluation: DatasetReport | null }

async function split(work: Work, { pinned, setAside, evaluationKey, key, use }: SplitInput): Promise<SplitData> {
  const train = openRowWriter(work.storage, key('train.jsonl'))
  const evaluation = openRowWriter(work.storage, key('evaluation.jsonl'))
  const writtenBytes = () => train.sizeBytes() + evaluation.sizeBytes()
  try {
    const isHeldOut = evaluationKey !== null || setAside.size > 0
    await eachRow(work, { key: pinned, name: 'training data', writtenBytes }, (row) => {
      use(row)
      const isSetAside = setAside.size > 0 && setAside.has(fingerprint(row))
      if (isSetAside) return evaluation.write(row)
      const isEvaluated = !isHeldOut && evaluation.rowCount() < evaluatedTrainingRows
      return isEvaluated ? both(evaluation.write(row), train.write(row)) : train.write(row)
    })
    let report: DatasetReport | null = null
    if (evaluationKey !== null) {
      const source = { key: evaluationKey, name: 'evaluation data' }
      report = await check(work, source)
      await eachRow(work, { ...source, writtenBytes }, (row) => evaluation.write(row))
    }
    const split: DataSplit = isHeldOut ? 'held_out' : 'train'
    const files = { train: await train.close(), evaluation: { ...(await evaluation.close()), split } }
    return { files, evaluation: report }
  } catch (error) {
    await Promise.all([train.abandon(), evaluation.abandon()])
    throw error
  }
}

async function both(first: Promise<void> | undefined, second: Promise<void> | undefined) {
  await first
  await second
}

type CheckInput = {
  key: string
  name: string
  use?: (row: DatasetRow, print: string) => void
  /** Names the bytes in the report; evaluation rows have no report. */
  of?: { etag: string; sizeBytes: number; counting: Counting }
}

async function check({ storage, ...bounds }: Work, { key, name, use, of }: CheckInput): Promise<DatasetReport> {
  const rows = await validateRows(await open(storage, key, name), { ...bounds, use })
  const { counting, ...named } = of ?? { etag: '', sizeBytes: 0 }
  const report = rows.report(named, counting)
  const problem = invalidDataReason(name, report)
  // The report of the evaluation rows is not the report of the data set.
  if (problem !== null) throw new DatasetInvalidError(problem, of ? report : undefined)
  return report
}

/** Reads a file whose rows were validated before. @throws DatasetInvalidError at a limit */
async function eachRow(
  { storage, limits, watch }: Work,
  { key, name, writtenBytes }: { key: string; name: string; writtenBytes: () => number },
  use: (row: DatasetRow) => Promise<void> | undefined,
) {
  for await (const batch of readDataset(await open(storage, key, name), limits.unpackedBytes))
    for (const raw of batch) {
      const row = 'problem' in raw ? null : readDatasetRow(raw.value)
      if (!row || isProblem(row)) throw new Error('a validated row is bad: its file has changed')
      const waiting = use(row)
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
