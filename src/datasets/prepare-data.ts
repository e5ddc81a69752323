// From uploaded bytes to the checked rows of one job: pinned, validated whole, split, written where no issued URL can write.
import { randomUUID, createHash } from 'node:crypto'
import { PassThrough } from 'node:stream'
import type { DataFile, DataSplit, PreparedData, TrainingSpec } from '../domain/training-job.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { Storage } from '../storage/storage.ts'
import { isProblem, readDatasetRow, type DatasetRow } from './dataset-row.ts'
import { readDataset } from './read-dataset.ts'
import { createEvaluationSelection, fingerprint } from './select-evaluation-rows.ts'

/** The data cannot be trained on; the message names the first bad rows. */
class DatasetInvalidError extends Error {
  override name = 'DatasetInvalidError'
}

const problemsListed = 100
const problemsInMessage = 5
/** Training rows evaluated on when there are too few to set any aside. */
const evaluatedTrainingRows = 10

export type PrepareData = typeof prepareData

/**
 * May run twice: each run writes under keys of its own.
 * @throws DatasetInvalidError
 */
export async function prepareData(
  storage: Storage,
  { jobId, spec }: { jobId: number; spec: Pick<TrainingSpec, 'dataKey' | 'evaluationKey'> },
): Promise<PreparedData> {
  const unique = randomUUID()
  const key = (name: string) => storageKeys.prepared(jobId, unique, name)
  // The owner's URL may still write to the upload: from here on only the copy counts.
  const pinned = await pin(storage, spec.dataKey, key('source'))
  const selection = createEvaluationSelection()
  await eachRow(storage, pinned, 'training data', (row) => {
    selection.add(fingerprint(row))
  })
  const setAside = spec.evaluationKey === null ? selection.selected() : new Set<string>()
  const train = openWriter(storage, key('train.jsonl'))
  const evaluation = openWriter(storage, key('evaluation.jsonl'))
  const split: DataSplit = spec.evaluationKey !== null || setAside.size > 0 ? 'held_out' : 'train'
  await eachRow(storage, pinned, 'training data', async (row) => {
    if (setAside.has(fingerprint(row))) await evaluation.write(row)
    else await train.write(row)
    if (split === 'train' && evaluation.rowCount() < evaluatedTrainingRows) await evaluation.write(row)
  })
  if (spec.evaluationKey !== null)
    await eachRow(storage, spec.evaluationKey, 'evaluation data', (row) => evaluation.write(row))
  const files = { train: await train.close(), evaluation: { ...(await evaluation.close()), split } }
  await storage.remove([pinned])
  return files
}

async function pin(storage: Storage, from: string, to: string): Promise<string> {
  if (!(await storage.stat(from)))
    throw new DatasetInvalidError('The uploaded data set no longer exists: upload it again.')
  await storage.copy(from, to)
  return to
}

async function eachRow(storage: Storage, key: string, name: string, use: (row: DatasetRow) => void | Promise<void>) {
  const file = await storage.read(key)
  if (!file) throw new DatasetInvalidError(`The ${name} no longer exists: upload it again.`)
  const problems: string[] = []
  let problemCount = 0
  let rowCount = 0
  for await (const raw of readDataset(file)) {
    rowCount++
    const row = 'problem' in raw ? { field: 'row', reason: raw.problem } : readDatasetRow(raw.value)
    if (!isProblem(row)) {
      // Once a row is bad nothing will be trained, but the rest is still checked, to report all at once.
      if (problemCount === 0) await use(row)
      continue
    }
    problemCount++
    if (problems.length < problemsListed) problems.push(`line ${raw.line}: ${row.field}: ${row.reason}`)
  }
  if (problemCount > 0) throw new DatasetInvalidError(describeProblems(name, problems, problemCount, rowCount))
  if (rowCount === 0) throw new DatasetInvalidError(`The ${name} has no rows.`)
}

function describeProblems(name: string, problems: string[], problemCount: number, rowCount: number): string {
  const listed = problems.slice(0, problemsInMessage).join('; ')
  const more = problemCount > problemsInMessage ? `; and ${problemCount - problemsInMessage} more` : ''
  return `The ${name} cannot be used: ${problemCount} of ${rowCount} rows are bad: ${listed}${more}.`
}

/** JSON Lines to an object, hashed on the way. */
function openWriter(storage: Storage, key: string) {
  const stream = new PassThrough({ highWaterMark: 1 << 20 })
  const hash = createHash('sha256')
  let sizeBytes = 0
  let rowCount = 0
  const written = storage.writeStream(key, stream)
  // Reported by `close`; a failure must not count as unhandled before.
  written.catch(() => stream.destroy())
  return {
    rowCount: () => rowCount,
    async write({ input, output }: DatasetRow) {
      const line = Buffer.from(`${JSON.stringify({ input, output })}\n`)
      hash.update(line)
      sizeBytes += line.length
      rowCount++
      if (!stream.write(line) && !stream.destroyed)
        await new Promise<void>((resolve) => stream.once('drain', resolve).once('close', resolve))
    },
    async close(): Promise<DataFile> {
      stream.end()
      await written
      return { key, sizeBytes, sha256: hash.digest('hex'), rowCount }
    },
  }
}
