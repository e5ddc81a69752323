// Turns an upload into the data of one job: copies it, validates every row, sets evaluation rows aside, and writes the rows to
// keys that no issued URL can write.
import { randomUUID } from 'node:crypto'
import type { DatasetReport } from '../domain/dataset-report.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { DataSplit, PreparedData, TrainingSpec } from '../domain/training-job.ts'
import type { Storage } from '../storage/storage.ts'
import { validateRows, fingerprint } from './validate-rows.ts'
import { DatasetInvalidError, invalidDataReason } from './dataset-invalid-error.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { readDataset } from './read-dataset.ts'
import { createEvaluationSelection } from './select-evaluation-rows.ts'
import type { TokenizerSource } from './token-sample.ts'
import { openRowWriter } from './write-rows.ts'

/** Number of training rows to evaluate on when there are too few rows to set any aside. */
const evaluatedTrainingRows = 10

export type DataOfJob = { jobId: number; spec: Pick<TrainingSpec, 'dataKey' | 'evaluationKey'> }
export type CheckedData = { prepared: PreparedData; report: DatasetReport }

/**
 * May run twice: each call writes under its own keys.
 * @throws DatasetInvalidError
 */
export async function prepareData(
  storage: Storage,
  { jobId, spec }: DataOfJob,
  tokenizer: TokenizerSource | null,
): Promise<CheckedData> {
  const unique = randomUUID()
  const key = (name: string) => storageKeys.prepared(jobId, unique, name)
  const uploaded = await storage.stat(spec.dataKey)
  if (!uploaded) throw new DatasetInvalidError('The uploaded data set no longer exists: upload it again.')
  const pinned = key('source')
  try {
    // The owner's URL can still write to the upload, so only the copy is used from here on.
    await storage.copy(spec.dataKey, pinned)
    const selection = createEvaluationSelection()
    const report = await check(storage, pinned, 'training data', (_row, print) => selection.add(print), {
      ...uploaded,
      tokenizer,
    })
    const setAside = spec.evaluationKey === null ? selection.selected() : new Set<string>()
    const prepared = await split(storage, { pinned, setAside, evaluationKey: spec.evaluationKey, key })
    return { prepared, report }
  } finally {
    await storage.remove([pinned])
  }
}

type SplitInput = {
  pinned: string
  setAside: Set<string>
  evaluationKey: string | null
  key: (name: string) => string
}

async function split(storage: Storage, { pinned, setAside, evaluationKey, key }: SplitInput): Promise<PreparedData> {
  const train = openRowWriter(storage, key('train.jsonl'))
  const evaluation = openRowWriter(storage, key('evaluation.jsonl'))
  try {
    const isHeldOut = evaluationKey !== null || setAside.size > 0
    await eachRow(storage, pinned, (row) => {
      const isSetAside = setAside.size > 0 && setAside.has(fingerprint(row))
      if (isSetAside) return evaluation.write(row)
      if (!isHeldOut && evaluation.rowCount() < evaluatedTrainingRows) void evaluation.write(row)
      return train.write(row)
    })
    if (evaluationKey !== null) {
      await check(storage, evaluationKey, 'evaluation data')
      await eachRow(storage, evaluationKey, (row) => evaluation.write(row))
    }
    const split: DataSplit = isHeldOut ? 'held_out' : 'train'
    return { train: await train.close(), evaluation: { ...(await evaluation.close()), split } }
  } catch (error) {
    await Promise.all([train.abandon(), evaluation.abandon()])
    throw error
  }
}

async function check(
  storage: Storage,
  key: string,
  name: string,
  use?: (row: DatasetRow, print: string) => void,
  of?: { etag: string; sizeBytes: number; tokenizer: TokenizerSource | null },
): Promise<DatasetReport> {
  const rows = await validateRows(await open(storage, key, name), use)
  const { etag, sizeBytes, tokenizer } = of ?? { etag: '', sizeBytes: 0, tokenizer: null }
  const report = rows.report({ etag, sizeBytes }, tokenizer)
  const problem = invalidDataReason(name, report)
  // The report of the evaluation rows is not the report of the data set.
  if (problem !== null) throw new DatasetInvalidError(problem, of ? report : undefined)
  return report
}

/** Reads a file whose rows were validated before. */
async function eachRow(storage: Storage, key: string, use: (row: DatasetRow) => Promise<void> | undefined) {
  for await (const batch of readDataset(await open(storage, key, 'data')))
    for (const raw of batch) {
      const row = 'problem' in raw ? null : readDatasetRow(raw.value)
      if (!row || isProblem(row)) throw new Error('a validated row is bad: its file has changed')
      const waiting = use(row)
      if (waiting) await waiting
    }
}

async function open(storage: Storage, key: string, name: string): Promise<AsyncIterable<Buffer>> {
  const file = await storage.read(key)
  if (!file) throw new DatasetInvalidError(`The ${name} no longer exists: upload it again.`)
  return file as AsyncIterable<Buffer>
}
