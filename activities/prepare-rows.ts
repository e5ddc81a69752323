// Writes the checked rows of a job to the object store. Jobs on one upload share one check and one copy of its rows.
import { ApplicationFailure } from '@temporalio/activity'
import { invalidDataReason, rowReader, unreadNote, type DatasetReport } from '../src/domain/dataset-report.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import type { PreparedData, TrainingJob } from '../src/domain/training-job.ts'
import { allExist } from './artifact-files.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { createPreparationPlaces } from './preparation-places.ts'

export type PrepareDependencies = Pick<FineTuneDependencies, 'database' | 'datasets' | 'storage'> & {
  settings: Pick<FineTuneDependencies['settings'], 'maxStoredBytes'>
}

const rowsAreMissing =
  'The prepared rows of this job are gone, and its upload no longer gives the same rows. Submit a new job to train on the upload.'

/** Later the bytes are checked again: a limit may have been raised, or the reader of rows mended. */
const badReportsCountMs = 3_600_000

/** `owner`: the job whose folder holds the rows. `notes`: what the job's events say about its rows. */
type Found = { prepared: PreparedData; owner: number; notes: string[] }

export type PrepareRows = ReturnType<typeof createRowPreparation>

export function createRowPreparation({ database, datasets, storage, settings }: PrepareDependencies) {
  const places = createPreparationPlaces()
  const isStored = ({ train, evaluation }: PreparedData) => allExist(storage, [train, evaluation])

  /**
   * Runs once per job: a resume trains on the same bytes. Missing rows are made again from the upload, if it is unchanged.
   * @throws ApplicationFailure DatasetInvalid, WaitsForTurn
   */
  return async (job: TrainingJob, signal: AbortSignal): Promise<void> => {
    if (job.preparedData && (await isStored(job.preparedData))) return
    await places.use(job, signal, () => prepare(job, signal))
  }

  async function prepare(job: TrainingJob, signal: AbortSignal): Promise<void> {
    const found = (await findShared(job)) ?? (await check(job, signal))
    const before = job.preparedData
    if (before && !isSame(before, found.prepared))
      throw ApplicationFailure.nonRetryable(rowsAreMissing, 'DatasetInvalid')
    const isKept = await database.transaction(async (tx) => {
      if (found.owner !== job.id && !(await tx.trainingJobs.holdPreparedData(found.owner))) return false
      if (before) await tx.trainingJobs.movePreparedData(job, found.prepared)
      else if ((await tx.trainingJobs.setPreparedData(job, found.prepared)) && found.notes.length > 0)
        await tx.jobEvents.add(job.id, ...found.notes.map(noteEvent))
      return true
    })
    // Retention has removed the shared rows meanwhile.
    if (!isKept) await prepare(job, signal)
  }

  /** Rows that another job on the same bytes has prepared. @throws ApplicationFailure when those bytes are known to be bad */
  async function findShared({ id, datasetVersionId, spec }: TrainingJob): Promise<Found | null> {
    const upload = await storage.stat(spec.dataKey)
    if (!upload) return null
    const report = await database.datasets.report(datasetVersionId)
    const isSameRead = report?.etag === upload.etag && report.reader === rowReader
    const isCurrent = isSameRead && Date.now() - Date.parse(report.checkedAt) < badReportsCountMs
    const problem = isCurrent ? invalidDataReason('training data', report) : null
    if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'DatasetInvalid')
    if (spec.evaluationKey !== null) return null
    const shared = await database.trainingJobs.findPreparedData(datasetVersionId, upload.etag)
    if (!shared || shared.owner === id || shared.prepared.reader !== rowReader) return null
    // Rows of an older release do not say what is learned from them.
    if (!shared.prepared.learned) return null
    return (await isStored(shared.prepared)) ? { ...shared, notes: notesOf(isSameRead ? report : null, null) } : null
  }

  async function check(
    { id: jobId, accountId, spec, datasetVersionId }: TrainingJob,
    signal: AbortSignal,
  ): Promise<Found> {
    if ((await database.accounts.storedBytes(accountId)) >= settings.maxStoredBytes)
      throw ApplicationFailure.nonRetryable(storageFull(settings.maxStoredBytes), 'DatasetInvalid')
    try {
      const { prepared, report, evaluation } = await datasets.prepare({ jobId, accountId, spec }, signal)
      await database.datasets.saveReport(datasetVersionId, report)
      return { prepared, owner: jobId, notes: notesOf(report, evaluation) }
    } catch (error) {
      if (!isInvalid(error)) throw error
      if (error.report) await database.datasets.saveReport(datasetVersionId, error.report)
      throw ApplicationFailure.nonRetryable(error.message, 'DatasetInvalid')
    }
  }
}

function notesOf(report: DatasetReport | null, evaluation: DatasetReport | null): string[] {
  const notes = [report && unreadNote('training data', report), evaluation && unreadNote('evaluation data', evaluation)]
  return notes.filter((note) => note !== null)
}

const noteEvent = (message: string) => ({
  kind: 'note' as const,
  actor: 'worker',
  reason: 'fields_not_read',
  message,
})

const isSame = (a: PreparedData, b: PreparedData) =>
  a.train.sha256 === b.train.sha256 && a.evaluation.sha256 === b.evaluation.sha256

/** Recognised by name, because activities import only types. */
const isInvalid = (error: unknown): error is Error & { report?: DatasetReport } =>
  error instanceof Error && error.name === 'DatasetInvalidError'
