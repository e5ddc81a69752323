// Writes the checked rows of a job to the object store.
import { ApplicationFailure } from '@temporalio/activity'
import type { DatasetReport } from '../src/domain/dataset-report.ts'
import type { PreparedData, TrainingJob } from '../src/domain/training-job.ts'
import { allExist } from './artifact-files.ts'
import type { FineTuneDependencies } from './fine-tune.ts'

export type PrepareDependencies = Pick<FineTuneDependencies, 'database' | 'datasets' | 'storage'>

const rowsAreMissing =
  'The training rows of this job are missing, and the upload has changed since the job was checked. Submit a new job to train on the new data.'

/**
 * Runs once per job: a resume trains on the same bytes. Missing rows are made again from the upload, if it is unchanged.
 * @throws ApplicationFailure DatasetInvalid
 */
export async function prepareRows(
  { database, datasets, storage }: PrepareDependencies,
  { id: jobId, generation, spec, datasetVersionId, preparedData: before }: TrainingJob,
  signal: AbortSignal,
): Promise<void> {
  if (before && (await allExist(storage, [before.train, before.evaluation]))) return
  try {
    const checked = await datasets.prepare({ jobId, spec }, signal)
    await database.datasets.saveReport(datasetVersionId, checked.report)
    if (!before) await database.trainingJobs.setPreparedData({ id: jobId, generation }, checked.prepared)
    else if (isSame(before, checked.prepared))
      await database.trainingJobs.movePreparedData({ id: jobId, generation }, checked.prepared)
    else throw ApplicationFailure.nonRetryable(rowsAreMissing, 'DatasetInvalid')
  } catch (error) {
    if (!isInvalid(error)) throw error
    if (error.report) await database.datasets.saveReport(datasetVersionId, error.report)
    throw ApplicationFailure.nonRetryable(error.message, 'DatasetInvalid')
  }
}

const isSame = (a: PreparedData, b: PreparedData) =>
  a.train.sha256 === b.train.sha256 && a.evaluation.sha256 === b.evaluation.sha256

/** Recognised by name, because activities import only types. */
const isInvalid = (error: unknown): error is Error & { report?: DatasetReport } =>
  error instanceof Error && error.name === 'DatasetInvalidError'
