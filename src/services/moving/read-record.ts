import { recordFormat, type DataReference, type JobLine, type RecordLine } from '../../domain/job-record.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { isTerminal } from '../../domain/training-job-status.ts'
import type { PreparedData, RowsFile, TrainingJob, TrainingSpec } from '../../domain/training-job.ts'
import type { JobRow } from '../../repositories/job-records.ts'
import { servedFilesOf, type ArtifactFile } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { jobNotFound } from '../training-jobs/get.ts'

type Found = NonNullable<Awaited<ReturnType<Ctx['deps']['database']['jobRecords']['read']>>>

/**
 * Reads an ended job as lines of JSON, for another installation: first the job, then its attempts, steps, events and the
 * answers of its evaluation. Object keys, secrets and trackers stay here.
 * @throws ServiceError not_found, conflict while the job is open
 */
export async function readJobRecord({
  ctx,
  input: { jobId },
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<AsyncIterable<Buffer>> {
  const { jobRecords } = ctx.deps.database
  const found = await jobRecords.read(ctx.accountId, jobId)
  if (!found) throw jobNotFound(jobId)
  const status = found.job.status as TrainingJob['status']
  if (!isTerminal(status))
    throw new ServiceError('conflict', `Job ${jobId} is ${status}. Only ended jobs have a record: wait, or cancel it.`)
  return write(ctx, found, await jobLine(ctx, found))
}

async function* write(ctx: Ctx, { job, model }: Found, first: object): AsyncGenerator<Buffer> {
  const { jobRecords } = ctx.deps.database
  yield lines([first])
  yield lines((await jobRecords.attempts(job.id)).map(attemptLine))
  for await (const page of jobRecords.steps(job.id)) yield lines(page.map(stepLine))
  for await (const page of jobRecords.events(job.id)) yield lines(page.map(eventLine))
  if (model) for await (const page of jobRecords.evaluation(model.artifactId)) yield lines(page.map(evaluationLine))
}

const lines = (values: object[]) => Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''))

type Wire<T> = { [K in keyof T]: unknown }

async function jobLine(ctx: Ctx, { job, model }: Found): Promise<Wire<JobLine>> {
  const spec = job.spec as unknown as TrainingSpec
  const { dataKey: _key, sources, evaluationKey, trackers: _trackers, startFrom, ...kept } = spec
  const { deps, accountId } = ctx
  const ids = [job.datasetVersionId, ...(sources ?? []).map(({ versionId }) => versionId)]
  const versions = await deps.database.jobRecords.versions(accountId, ids)
  const reference = (id: string): DataReference => versions.get(id) ?? null
  return {
    ...{ type: 'job', format: recordFormat, installation: await deps.database.installation.id(), jobId: job.id },
    datasetId: job.datasetId,
    data: reference(job.datasetVersionId),
    sources:
      sources?.map(({ datasetId, versionId, weight }) => ({ datasetId, data: reference(versionId), weight })) ?? null,
    evaluationData:
      evaluationKey === null ? false : await deps.database.jobRecords.versionOfKey(accountId, evaluationKey),
    ...fieldsOf(job),
    spec: {
      ...kept,
      ...(startFrom && { startFrom: { modelName: startFrom.modelName, jobId: startFrom.jobId } }),
    },
    preparedData: preparedOf(job.preparedData as unknown as PreparedData | null),
    model: model && {
      name: model.name,
      files: servedFilesOf(model.files as unknown as ArtifactFile[]).map(({ key: _fileKey, ...file }) => file),
      ...{ step: model.artifact.step, attempt: model.artifact.attempt },
      ...{ scores: model.scores, createdAt: model.createdAt, version: model.version?.version ?? null },
    },
  }
}

function fieldsOf(job: JobRow) {
  const { customModelName, isPublic, status, statusReason, statusMessage, specHash, generation } = job
  const { currentAttempt, resumeCount, cancelRequestedAt, pauseRequestedAt, createdAt, finishedAt } = job
  return {
    ...{ customModelName, isPublic, status, statusReason, statusMessage, specHash, generation },
    ...{ currentAttempt, resumeCount, cancelRequestedAt, pauseRequestedAt, createdAt, finishedAt },
  }
}

function preparedOf(data: PreparedData | null): Wire<NonNullable<JobLine['preparedData']>> | null {
  if (!data) return null
  const { train, evaluation, skipped: _skipped, sourceEtag: _etag, ...rest } = data
  return { ...rest, train: rowsOf(train), evaluation: { ...rowsOf(evaluation), split: evaluation.split } }
}

const rowsOf = ({ sizeBytes, sha256, rowCount }: RowsFile) => ({ sizeBytes, sha256, rowCount })

type Rows<K extends 'attempts'> = Awaited<ReturnType<Ctx['deps']['database']['jobRecords'][K]>>[number]
type Pages<K extends 'steps' | 'events' | 'evaluation'> =
  ReturnType<Ctx['deps']['database']['jobRecords'][K]> extends AsyncGenerator<(infer T)[]> ? T : never
type Line<T extends RecordLine['type']> = Wire<Extract<RecordLine, { type: T }>>

function attemptLine(row: Rows<'attempts'>): Line<'attempt'> {
  const { id: _id, jobId: _job, accountId: _account, tokenHash: _token, runName: _name, runUid: _uid, ...rest } = row
  const { claimId: _claim, logBytes: _log, toldReason: _reason, toldAhead: _ahead, ...kept } = rest
  return { type: 'attempt', ...kept }
}

function stepLine({ jobId: _job, sequence: _sequence, tokens, ...step }: Pages<'steps'>): Line<'step'> {
  return { type: 'step', ...step, tokens: tokens === null ? null : Number(tokens) }
}

const eventLine = ({ id: _id, jobId: _job, ...event }: Pages<'events'>): Line<'event'> => ({ type: 'event', ...event })

const evaluationLine = ({ artifactId: _artifact, ...row }: Pages<'evaluation'>): Line<'evaluation'> => ({
  type: 'evaluation',
  ...row,
})
