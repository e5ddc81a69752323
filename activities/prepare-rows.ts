// Writes the checked rows of a job to the object store. Jobs on one upload share one check and one copy of its rows.
import { ApplicationFailure } from '@temporalio/activity'
import {
  isReadOf,
  skippedNote,
  trainingDataName,
  trainingDataProblem,
  type Columns,
  type DatasetReport,
} from '../src/domain/dataset-report.ts'
import { unreadNote } from '../src/domain/unread-note.ts'
import { gpuCountOf } from '../src/domain/attempt-ledger.ts'
import { sourcesOf, type NamedReport } from '../src/domain/data-sources.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import { preparedFiles, type PreparedData, type TrainingJob } from '../src/domain/training-job.ts'
import { fitProblem, longestRowIn } from '../src/domain/training-fit.ts'
import { methodNameOf } from '../src/domain/training-method.ts'
import { allExist } from './artifact-files.ts'
import { columnsOfKey } from './columns-of-key.ts'
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
type Found = { prepared: PreparedData; owner: number; notes: Note[]; reports: readonly DatasetReport[] }
type Note = { reason: 'fields_not_read' | 'rows_skipped'; message: string }

export type PrepareRows = ReturnType<typeof createRowPreparation>

export function createRowPreparation({ database, datasets, storage, settings }: PrepareDependencies) {
  const places = createPreparationPlaces()
  const isStored = (prepared: PreparedData) => allExist(storage, preparedFiles(prepared))

  /**
   * Runs once per job: a resume trains on the same bytes. Missing rows are made again from the upload, if it is unchanged.
   * @throws ApplicationFailure DatasetInvalid, DoesNotFit, WaitsForTurn
   */
  return async (job: TrainingJob, signal: AbortSignal): Promise<void> => {
    if (job.preparedData && (await isStored(job.preparedData))) return
    await places.use(job, signal, () => prepare(job, signal))
  }

  async function prepare(job: TrainingJob, signal: AbortSignal): Promise<void> {
    const before = job.preparedData
    // A resume reads what the job has read, whatever the data set names by now.
    const columns = before ? columnsIn(before) : await currentColumns(job)
    const found = (await findShared(job, columns[0] ?? null)) ?? (await check(job, columns, signal))
    // A job that has trained goes on, whatever this release estimates.
    if (!before) requireFit(job.spec, found.reports)
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

  function currentColumns(job: TrainingJob) {
    return Promise.all(sourcesOf(job).map(({ dataKey }) => columnsOfKey(database, dataKey)))
  }

  /** Rows that another job on the same bytes has prepared. @throws ApplicationFailure when those bytes are known to be bad */
  async function findShared(
    { id, datasetVersionId, spec }: TrainingJob,
    columns: Columns | null,
  ): Promise<Found | null> {
    const upload = spec.sources ? null : await storage.stat(spec.dataKey)
    if (!upload) return null
    const now = { etag: upload.etag, columns, method: methodNameOf(spec) }
    const known = await database.datasets.report(datasetVersionId)
    const report = known && isReadOf(known, now) ? known : null
    const isSkipping = spec.skipBadRows ?? false
    const isCurrent = report && Date.now() - Date.parse(report.checkedAt) < badReportsCountMs
    const problem = isCurrent ? trainingDataProblem(report, { isSkipping }) : null
    if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'DatasetInvalid')
    // The graders of a job decide which of its rows are bad.
    if (spec.evaluationKey !== null || spec.method?.task) return null
    const shared = await database.trainingJobs.findPreparedData(datasetVersionId, upload.etag)
    if (!shared || shared.owner === id) return null
    const { sourceEtag: etag, ...prepared } = shared.prepared
    if (!isReadOf({ etag, ...prepared }, now)) return null
    // Rows of an older release do not say what is learned from them.
    if (!prepared.learned) return null
    // Without the report nobody could tell the job which rows it leaves out.
    if (prepared.skipped && !(isSkipping && report)) return null
    const reports = report ? [report] : []
    return (await isStored(shared.prepared))
      ? { ...shared, reports, notes: notesOf({ reports, evaluation: null, isSkipping }) }
      : null
  }

  async function check(job: TrainingJob, columns: (Columns | null)[], signal: AbortSignal): Promise<Found> {
    const { id: jobId, accountId, spec } = job
    if ((await database.accounts.storedBytes(accountId)) >= settings.maxStoredBytes)
      throw ApplicationFailure.nonRetryable(storageFull(settings.maxStoredBytes), 'DatasetInvalid')
    try {
      const { evaluationKey } = spec
      const evaluationColumns = evaluationKey === null ? null : await columnsOfKey(database, evaluationKey)
      const data = { jobId, accountId, spec, columns, evaluationColumns }
      const { prepared, reports, evaluation } = await datasets.prepare(data, signal)
      for (const report of reports) await saveReport(job, report)
      const isSkipping = spec.skipBadRows ?? false
      return { prepared, owner: jobId, reports, notes: notesOf({ reports, evaluation, isSkipping }) }
    } catch (error) {
      if (!isInvalid(error)) throw error
      if (error.report) await saveReport(job, error.report)
      throw ApplicationFailure.nonRetryable(error.message, 'DatasetInvalid')
    }
  }

  /** Keeps the report with the version of the data set that it is on, unless it is for the job alone. */
  async function saveReport({ spec, datasetVersionId }: TrainingJob, { set, ...report }: NamedReport) {
    if (!isOfUpload(spec, report)) return
    const source = spec.sources?.find(({ datasetId }) => datasetId === set)
    await database.datasets.saveReport(source?.versionId ?? datasetVersionId, report)
  }
}

/** The longest row is known now. @throws ApplicationFailure */
function requireFit(
  { shape, baseModel, args, method, gpus, nodes }: TrainingJob['spec'],
  reports: readonly DatasetReport[],
) {
  const longestRow = shape ? longestRowIn(reports, baseModel.name) : null
  if (!shape || longestRow === null) return
  const entry = { ...baseModel, shape }
  const problem = fitProblem(
    { entry, args, method: method ?? null, gpuCount: gpuCountOf({ gpus, nodes, baseModel }) },
    longestRow,
  )
  if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'DoesNotFit')
}

const columnsIn = ({ sources, columns }: PreparedData): (Columns | null)[] =>
  (sources ?? [{ columns }]).map((read) => read.columns ?? null)

/** Rows that are bad for the graders of one job may be good for another one. */
const isOfUpload = ({ method }: TrainingJob['spec'], { badRowCount }: DatasetReport) =>
  !method?.task || badRowCount === 0

type Checked = { reports: readonly NamedReport[]; evaluation: DatasetReport | null; isSkipping: boolean }

function notesOf({ reports, evaluation, isSkipping }: Checked): Note[] {
  const unread = [
    ...reports.map((report) => unreadNote(trainingDataName(report), report)),
    evaluation && unreadNote('evaluation data', evaluation),
  ]
  const skipped = isSkipping ? reports.map((report) => skippedNote(report)) : []
  return [
    ...skipped.flatMap((message) => (message === null ? [] : [{ reason: 'rows_skipped' as const, message }])),
    ...unread.flatMap((message) => (message === null ? [] : [{ reason: 'fields_not_read' as const, message }])),
  ]
}

const noteEvent = (note: Note) => ({ kind: 'note' as const, actor: 'worker', ...note })

const isSame = (a: PreparedData, b: PreparedData) =>
  a.train.sha256 === b.train.sha256 && a.evaluation.sha256 === b.evaluation.sha256

/** Recognised by name, because activities import only types. */
const isInvalid = (error: unknown): error is Error & { report?: NamedReport } =>
  error instanceof Error && error.name === 'DatasetInvalidError'
