// Writes jobs that another installation has run.
import { randomBytes, randomUUID } from 'node:crypto'
import { Prisma } from '../../generated/prisma/client.ts'
import type { JobLine, LineOf } from '../domain/job-record.ts'
import type { PreparedData, TrainingSpec, ArtifactFile } from '../domain/training-job.ts'
import { attemptRunName } from '../domain/identifiers.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import type { Connection } from './connection.ts'
import { hiddenDatasets } from './dataset-statements.ts'

export type Origin = { installation: string; jobId: number }

/** `line` was checked; what it names of other objects was replaced by what this account has. */
export type ImportedJob = {
  id: number
  accountId: string
  apiKeyId: string
  line: JobLine
  datasetVersionId: string
  spec: TrainingSpec
  preparedData: PreparedData | null
  /** The record has so many bytes; they count as bytes of the account in the database. */
  rowBytes: number
}

export type ImportedModel = {
  name: string
  artifactId: string
  /** As the artifact and as the model name them. */
  saved: ArtifactFile[]
  files: ArtifactFile[]
}

export const createImportedJobRepository = (db: Connection) => ({
  async find(accountId: string, { installation, jobId }: Origin) {
    const where = { accountId, importedFrom: installation, importedJobId: jobId }
    return db.trainingJob.findFirst({ where, select: { id: true, modelName: true } })
  },

  async nextId(): Promise<number> {
    const [row] = await db.$queryRaw<[{ id: number }]>`select nextval('training_jobs_id_seq')::int as id`
    return row.id
  },

  /** Whether a model of any account has this name, or the open job with this id may be about to give it. */
  async isModelNameTaken(name: string, jobId: number): Promise<boolean> {
    const model = await db.model.findUnique({ where: { name }, select: { name: true } })
    if (model) return true
    const where = { id: jobId, status: { in: openStatuses } }
    return (await db.trainingJob.findFirst({ where, select: { id: true } })) !== null
  },

  /** A version that stands for deleted rows. */
  async createDeletedVersion(accountId: string): Promise<{ id: string; uploadKey: string }> {
    const id = randomUUID()
    const uploadKey = `inline/${accountId}/${id}/rows.jsonl`
    const place = { id, accountId, datasetId: hiddenDatasets + id, version: 1, uploadKey, usedAt: new Date() }
    await db.datasetVersion.create({ data: place })
    return { id, uploadKey }
  },

  /** Finishes a version whose rows lie under its key already. @throws a unique violation when the account has that version */
  async keepVersion(id: string, data: Prisma.DatasetVersionUpdateInput) {
    await db.datasetVersion.update({ where: { id }, data: { ...data, usedAt: new Date() } })
  },

  /** @throws a unique violation when the job or a model of this name is there */
  async create({ line, spec, preparedData, rowBytes, ...place }: ImportedJob, model: ImportedModel | null) {
    const { datasetId, customModelName, isPublic, status, statusReason, statusMessage, specHash } = line
    const { generation, currentAttempt, resumeCount, cancelRequestedAt, pauseRequestedAt, createdAt } = line
    await db.trainingJob.create({
      data: {
        ...place,
        ...{ datasetId, customModelName, isPublic, status, statusReason, statusMessage, specHash },
        ...{ generation, currentAttempt, resumeCount, cancelRequestedAt, pauseRequestedAt, createdAt },
        finishedAt: line.finishedAt,
        // No resume is left, so no list offers one.
        resumeLimit: resumeCount,
        baseModel: spec.baseModel.name,
        // Plain JSON, as the record had it.
        spec: spec as unknown as Prisma.InputJsonObject,
        preparedData: preparedData ?? Prisma.DbNull,
        dataRemovedAt: new Date(),
        modelName: model?.name ?? null,
        importedFrom: line.installation,
        importedJobId: line.jobId,
      },
    })
    await db.$executeRaw`
      update training_jobs set row_bytes = greatest(row_bytes, ${rowBytes}::bigint) where id = ${place.id}::int`
    if (model) await createModel(db, { line, place, spec }, model)
  },

  async addAttempts({ id: jobId, accountId }: Pick<ImportedJob, 'id' | 'accountId'>, lines: LineOf<'attempt'>[]) {
    const data = lines.map(({ type: _type, rowCounts, ...line }) => ({
      ...line,
      ...{ id: randomUUID(), jobId, accountId, runName: attemptRunName(jobId, line.number) },
      rowCounts: rowCounts ?? Prisma.DbNull,
      // A token that nobody has: an attempt of another installation writes nothing here.
      tokenHash: randomBytes(32),
      releasedAt: line.releasedAt ?? line.endedAt ?? line.createdAt,
      fencedAt: line.fencedAt ?? line.endedAt ?? line.createdAt,
    }))
    await db.attempt.createMany({ data })
  },

  /** One parameter for all lines: a job may have 100,000 steps, and its transaction 30 seconds. */
  async addSteps(jobId: number, lines: LineOf<'step'>[]) {
    await db.$executeRaw`
      insert into training_steps (job_id, step, attempt, loss, learning_rate, epoch, iter_time, flops, remaining_time, tokens,
        grad_norm, tokens_per_second, token_accuracy, valid_loss, valid_token_accuracy, valid_rows, series, at)
      select ${jobId}::int, line.* from json_to_recordset(${JSON.stringify(lines)}::json) as line (step int, attempt int,
        loss float8, "learningRate" float8, epoch float8, "iterTime" float8, flops float8, "remainingTime" float8, tokens int8,
        "gradNorm" float8, "tokensPerSecond" float8, "tokenAccuracy" float8, "validLoss" float8,
        "validTokenAccuracy" float8, "validRows" int, series jsonb, at timestamptz)`
  },

  async addEvents(jobId: number, lines: Omit<LineOf<'event'>, 'type'>[]) {
    await db.jobEvent.createMany({ data: lines.map((line) => ({ ...line, jobId })) })
  },

  async addEvaluation(artifactId: string, lines: LineOf<'evaluation'>[]) {
    const data = lines.map(({ type: _type, prefersChosen, item, samples, scores, ...line }) => ({
      ...{ ...line, artifactId },
      ...{
        prefersChosen: prefersChosen ?? Prisma.DbNull,
        item: item ?? Prisma.DbNull,
        samples: samples ?? Prisma.DbNull,
        scores: scores ?? Prisma.DbNull,
      },
    }))
    await db.evaluation.createMany({ data })
  },

  /** A trigger announces each status. Nobody waits for those of a job that ended elsewhere. */
  async dropAnnouncements(jobId: number) {
    await db.webhookDelivery.deleteMany({ where: { jobId } })
  },
})

type Of = { line: JobLine; place: Pick<ImportedJob, 'id' | 'accountId'>; spec: TrainingSpec }

async function createModel(
  db: Connection,
  { line, place, spec }: Of,
  { name, artifactId, saved, files }: ImportedModel,
) {
  const model = line.model
  if (!model) return
  const { step, attempt, createdAt, scores, version } = model
  const { id: jobId, accountId } = place
  const kept = { createdAt, committedAt: createdAt, verifiedAt: new Date() }
  await db.artifact.create({
    data: { id: artifactId, jobId, attempt, kind: 'model', step, specHash: line.specHash, files: saved, ...kept },
  })
  const baseModel = spec.baseModel.name
  await db.model.create({
    data: { name, accountId, jobId, artifactId, baseModel, files, scores: scores ?? Prisma.DbNull, createdAt },
  })
  if (version !== null) await keepVersion(db, name, version)
}

/**
 * Gives the model the version that it had, unless the name has that version, or jobs of this installation: a version of
 * theirs that was deleted is never given again. The trigger has numbered the model; the counter of the name stays as high.
 */
const keepVersion = (db: Connection, modelName: string, version: number) => db.$executeRaw`
  with moved as (
    update model_versions own set version = ${version}::int
    where own.model_name = ${modelName} and own.version <> ${version}::int
      and not exists (
        select from model_versions other join models m on m.name = other.model_name join training_jobs j on j.id = m.job_id
        where other.account_id = own.account_id and other.name = own.name
          and (other.version = ${version}::int or j.imported_from is null))
    returning own.account_id, own.name)
  update model_names given set last_version = (
    select greatest(${version}::int, max(other.version)) from model_versions other
    where other.account_id = given.account_id and other.name = given.name and other.model_name <> ${modelName})
  from moved where given.account_id = moved.account_id and given.name = moved.name`
