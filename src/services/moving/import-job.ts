import { randomUUID } from 'node:crypto'
import { checkAdapterConfig, checkAdapterHeader, headerBytesOf, mostConfigBytes } from '../../domain/adapter-files.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { gradersOf } from '../../domain/grader.ts'
import { tunedModelName } from '../../domain/identifiers.ts'
import type { JobLine } from '../../domain/job-record.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { ArtifactFile } from '../../domain/training-job.ts'
import { isUniqueViolation, type Repositories } from '../../repositories/database.ts'
import type { ImportedModel } from '../../repositories/imported-jobs.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { requireRoomInDatabase, requireRoomToCopy } from '../limits/account-quotas.ts'
import { commitStored, type Stored } from '../store-then-commit.ts'
import { checkGraders } from '../training-jobs/submit.ts'
import type { ImportState } from './import-dataset.ts'
import { checkRecord, readJobLine } from './record-lines.ts'
import { dropStaged, findStaged, takeStaged, type SentFile } from './staged.ts'
import { writeJob } from './write-job.ts'

export type ImportedJobInput = {
  installation: string
  jobId: number
  baseModel: string
  record: Omit<SentFile, 'name'>
  /** Of the adapter; empty for a job without a model. */
  files: SentFile[]
}

/** `needs`: names of files to upload. */
export type ImportedJobAnswer = { state: ImportState; needs: string[]; jobId: number | null; modelName: string | null }

const recordName = 'record.jsonl'

/**
 * Writes a job that ended in another installation, with its model, as history: it never runs. A repeat finds the same job.
 * @throws ServiceError invalid_input for a base model that the catalogue lacks, a wrong record or adapter, quota_exceeded
 */
export async function importJob(asked: { ctx: Ctx; input: ImportedJobInput }): Promise<ImportedJobAnswer> {
  try {
    return await importOnce(asked)
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
  }
  // Another import of the job was faster, or another account took the model's name just now.
  try {
    return await importOnce(asked)
  } catch (error) {
    throw isUniqueViolation(error) ? invalidInput('record', 'The record names something twice.') : error
  }
}

async function importOnce({ ctx, input }: { ctx: Ctx; input: ImportedJobInput }): Promise<ImportedJobAnswer> {
  const there = await findImported(ctx, input)
  if (there) return there
  const entry = baseModelOf(ctx, input.baseModel)
  const sent = [{ name: recordName, ...input.record }, ...input.files]
  const staged = await Promise.all(sent.map((file) => findStaged(ctx, file)))
  const needs = sent.flatMap(({ name }, at) => (staged[at] ? [] : [name]))
  if (needs.length > 0) return { state: 'needs_files', needs, jobId: null, modelName: null }
  await requireRoom(ctx, ctx.deps.database)
  const files = staged.filter((file) => file !== null)
  const place = await openPlace(ctx)
  try {
    for (const file of files) await takeStaged(ctx, file, place.key(file.name))
    const made = await create(ctx, input, { entry, place })
    for (const file of files) await dropStaged(ctx, file)
    return { state: 'done', needs: [], ...made }
  } finally {
    await ctx.deps.storage.remove([place.key(recordName)]).catch(() => undefined)
    if (place.kept === 'no') {
      await ctx.deps.storage.removeFolder(place.key('')).catch(() => undefined)
      await unpublish(ctx, input, place).catch(() => undefined)
    }
  }
}

/** Another import may take the room before this one commits. @throws ServiceError quota_exceeded */
async function requireRoom(ctx: Ctx, repositories: Pick<Repositories, 'accounts'>) {
  await requireRoomToCopy(ctx, repositories)
  await requireRoomInDatabase(ctx, repositories)
}

async function findImported(ctx: Ctx, origin: ImportedJobInput): Promise<ImportedJobAnswer | null> {
  const found = await ctx.deps.database.importedJobs.find(ctx.accountId, origin)
  return found && { state: 'there', needs: [], jobId: found.id, modelName: found.modelName }
}

/** @throws ServiceError invalid_input */
function baseModelOf({ deps: { catalogue } }: Ctx, name: string): CatalogueEntry {
  const entry = catalogue.find(name)
  if (entry?.task === 'completion') return entry
  throw invalidInput(
    'base_model',
    `The catalogue of this installation has no base model "${name}" to train. Its operator can add it to the catalogue; then import again.`,
  )
}

/** Where the files of the new job lie: under keys that no URL can write. The sweep of orphans removes what a crash leaves. */
type Place = Stored & {
  jobId: number
  artifactId: string
  key: (name: string) => string
  /** Set before its files are copied. */
  model: ImportedModel | null
}

async function openPlace(ctx: Ctx): Promise<Place> {
  const [jobId, artifactId] = [await ctx.deps.database.importedJobs.nextId(), randomUUID()]
  return { jobId, artifactId, key: (name) => storageKeys.artifact(jobId, artifactId, name), model: null, kept: 'no' }
}

type Work = { entry: CatalogueEntry; place: Place }

async function create(ctx: Ctx, input: ImportedJobInput, { entry, place }: Work) {
  const { database, storage } = ctx.deps
  const openRecord = async () => ((await storage.read(place.key(recordName))) ?? []) as AsyncIterable<Buffer>
  const line = await readJobLine(await openRecord())
  requireSame(input, line, entry)
  // All of it, before the adapter lies where models are read.
  await checkRecord(await openRecord())
  if (line.spec.evaluation?.graders) await checkGraders(ctx, gradersOf(line.spec.evaluation.graders))
  const model = line.model && (await publish(ctx, line, { entry, place }))
  await commitStored(database, place, async (tx) => {
    await tx.accounts.hold(ctx.accountId)
    await requireRoom(ctx, tx)
    await requirePublished(ctx, model)
    const rowBytes = input.record.sizeBytes
    await writeJob(ctx, tx, { id: place.jobId, line, model, record: await openRecord(), rowBytes })
    await recordAudit(tx, ctx, 'import.job', `${place.jobId} from ${line.installation} job ${line.jobId}`)
  })
  return { jobId: place.jobId, modelName: model?.name ?? null }
}

/** @throws ServiceError invalid_input where the record is of another job than the request, or its base model is another one */
function requireSame(input: ImportedJobInput, line: JobLine, entry: CatalogueEntry) {
  const { installation, jobId, spec, model } = line
  if (installation !== input.installation || jobId !== input.jobId || spec.baseModel.name !== entry.name)
    throw invalidInput('record', 'The record is of another job than the request.')
  const textOf = (files: readonly SentFile[]) =>
    files
      .map(({ name, sizeBytes, sha256 }) => `${name} ${sizeBytes} ${sha256}`)
      .toSorted()
      .join()
  if (textOf(model?.files ?? []) !== textOf(input.files))
    throw invalidInput('files', 'The files are not those of the model that the record names.')
  const trainedOn = spec.baseModel.sha256
  if (model && trainedOn !== null && entry.sha256 && trainedOn !== entry.sha256)
    throw invalidInput(
      'base_model',
      `"${entry.name}" has other weights here than those that the model of job ${jobId} was trained on, so it would answer otherwise.`,
    )
}

/** Checks the adapter and copies it to where models are read. @throws ServiceError invalid_input */
async function publish(ctx: Ctx, line: JobLine, { entry, place }: Work): Promise<ImportedModel> {
  const { storage, database } = ctx.deps
  const files = line.model?.files ?? []
  const saved: ArtifactFile[] = files.map((file) => ({ ...file, key: place.key(file.name) }))
  await checkAdapter(ctx, saved, entry.maxRank)
  // A name says which bytes it stands for, so nobody can give a name of another account to other weights.
  const own = tunedModelName(line.jobId, files)
  const keeps = line.model?.name === own && !(await database.importedJobs.isModelNameTaken(own, line.jobId))
  const name = keeps ? own : tunedModelName(place.jobId, files)
  const published = saved.map((file) => ({ ...file, key: storageKeys.model(ctx.accountId, name, file.name) }))
  place.model = { name, artifactId: place.artifactId, saved, files: published }
  for (const [at, { key }] of saved.entries())
    await storage.copy(key, published[at]?.key ?? '', { job: String(place.jobId) })
  return place.model
}

/**
 * Removes the adapter of an import that failed. Another import of the same job may have published the same files under the
 * same keys: they stay when it has committed, and `requirePublished` tells it when it has not.
 */
async function unpublish({ accountId, deps }: Ctx, { jobId }: ImportedJobInput, { model }: Place) {
  if (!model) return
  await deps.database.transaction(async (tx) => {
    await tx.accounts.hold(accountId)
    if (await tx.importedJobs.isModelNameTaken(model.name, jobId)) return
    await deps.storage.remove(model.files.map(({ key }) => key))
  })
}

/** Call it in a transaction that holds the account. @throws ServiceError conflict */
async function requirePublished({ deps: { storage } }: Ctx, model: ImportedModel | null) {
  for (const { key } of model?.files ?? [])
    if (!(await storage.stat(key)))
      throw new ServiceError('conflict', 'Another import of the job failed meanwhile. Repeat the request.')
}

async function checkAdapter({ deps: { storage } }: Ctx, files: readonly ArtifactFile[], maxRank: number) {
  const read = async (name: string, from: number, bytes: number) => {
    const file = files.find((each) => each.name === name)
    if (!file) throw invalidInput('files', `The model has no ${name}.`)
    return { file, bytes: (await storage.readRange(file.key, { offset: from, limit: bytes })).bytes }
  }
  const config = await read('adapter_config.json', 0, mostConfigBytes)
  const rank = checkAdapterConfig(config.bytes.toString(), maxRank)
  const start = await read('adapter_model.safetensors', 0, 8)
  const headerBytes = headerBytesOf(start.bytes, start.file.sizeBytes)
  const header = await read('adapter_model.safetensors', 8, headerBytes)
  checkAdapterHeader(header.bytes.toString(), rank)
}
