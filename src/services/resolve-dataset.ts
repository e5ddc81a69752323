// Which data set a training request means. Clients name it in one, two or three ways at once.
import { randomUUID } from 'node:crypto'
import { parseDatasetId } from '../domain/dataset-id.ts'
import { invalidInput } from '../domain/service-error.ts'
import { collectionDatasetId, collectionName } from '../domain/stored-data.ts'
import type { DatasetVersion } from '../repositories/datasets.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import type { Ctx } from './context.ts'
import { openDatasetVersion } from './request-upload.ts'
import { exportRows } from './stored-data/export-rows.ts'

export type DatasetReference = {
  uploadFilePath?: string | undefined
  datasetId?: string | undefined
  data?: readonly unknown[] | undefined
  /** Rows kept under it are used, all of them. */
  storedId?: string | undefined
  /** Rows kept under the model's name are used where nothing else is named. */
  modelName: string
}

/** The version to train on and the key its bytes are under. @throws ServiceError invalid_input */
export async function resolveDataset(
  ctx: Ctx,
  reference: DatasetReference,
): Promise<{ version: DatasetVersion; dataKey: string }> {
  const stored = await resolveStored(ctx, reference)
  if (stored) return stored
  const named = await findNamed(ctx, reference)
  if (named) {
    const uploaded = await ctx.deps.storage.stat(named.uploadKey)
    if (uploaded) return { version: named, dataKey: named.uploadKey }
    if (!reference.data) {
      const path = reference.uploadFilePath === undefined ? 'dataset_id' : 'upload_file_path'
      throw invalidInput(
        path,
        `Nothing was uploaded to the data set "${named.datasetId}": PUT the file to its dataset_location first.`,
      )
    }
  }
  if (reference.data) return storeInline(ctx, reference, reference.data)
  if (reference.datasetId !== undefined)
    throw invalidInput(
      'dataset_id',
      `There is no data set "${reference.datasetId}": ask POST /v1/data for a place to upload it.`,
    )
  throw invalidInput('upload_file_path', 'Name the training data: upload_file_path, dataset_id, data or id.')
}

/** Inline rows come after the stored ones; `datasetId` names what comes of both. */
async function resolveStored(ctx: Ctx, { storedId, modelName, uploadFilePath, datasetId, data }: DatasetReference) {
  const isNamed = [uploadFilePath, datasetId, data].some((each) => each !== undefined)
  if (storedId === undefined && isNamed) return null
  const collection = collectionName(ctx.deps.catalogue, storedId ?? modelName)
  const place = { accountId: ctx.accountId, collection }
  if (!(await ctx.deps.database.storedRows.exists(place))) {
    if (storedId === undefined || isNamed) return null
    throw invalidInput('id', `Nothing is kept under the id "${storedId}": POST /v1/svc/data stores rows there.`)
  }
  if (uploadFilePath !== undefined)
    throw invalidInput('upload_file_path', 'Train on an uploaded file or on the rows kept under an id, not on both.')
  const ownId = datasetId === undefined ? collectionDatasetId(ctx.accountId, collection) : parseDatasetId(datasetId)
  const version = await openDatasetVersion(ctx, ownId)
  await exportRows(ctx.deps, { place, more: data ?? [], key: version.uploadKey })
  return { version, dataKey: version.uploadKey }
}

async function findNamed(ctx: Ctx, { uploadFilePath, datasetId }: DatasetReference): Promise<DatasetVersion | null> {
  const { datasets } = ctx.deps.database
  if (datasetId !== undefined) parseDatasetId(datasetId)
  if (uploadFilePath === undefined)
    return datasetId === undefined ? null : datasets.newestVersion(ctx.accountId, datasetId)
  const version = await findByLocation(ctx, uploadFilePath)
  if (!version)
    throw invalidInput(
      'upload_file_path',
      'upload_file_path must be the dataset_location of one of your data sets, or its id.',
    )
  if (datasetId !== undefined && version.datasetId !== datasetId)
    throw invalidInput('dataset_id', `dataset_id "${datasetId}" and upload_file_path name different data sets.`)
  return version
}

/** Accepts the presigned URL (its query does not matter), `s3://`, the object's path, or the bare data set id. */
async function findByLocation(ctx: Ctx, location: string): Promise<DatasetVersion | null> {
  const { database, storage } = ctx.deps
  const prefixes = [storage.urlPrefix, `s3://${storage.bucket}/`, `/${storage.bucket}/`, `${storage.bucket}/`, '/']
  const path = location.split('?')[0] ?? ''
  const prefix = prefixes.find((each) => path.startsWith(each)) ?? ''
  const key = decodePath(path.slice(prefix.length))
  const [, accountId, datasetId, versionId] = /^uploads\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(key) ?? []
  if (accountId === undefined || datasetId === undefined || versionId === undefined)
    return /^[\w.-]+$/.test(location) ? database.datasets.newestVersion(ctx.accountId, location) : null
  if (accountId !== ctx.accountId || !isUuid(versionId)) return null
  const version = await database.datasets.findVersion(ctx.accountId, versionId)
  return version?.datasetId === datasetId ? version : null
}

async function storeInline(ctx: Ctx, { datasetId }: DatasetReference, data: readonly unknown[]) {
  if (data.length === 0) throw invalidInput('data', 'data must hold at least one row.')
  const version = await openDatasetVersion(ctx, datasetId ?? randomUUID().replaceAll('-', ''))
  await ctx.deps.storage.write(version.uploadKey, jsonLines(data))
  return { version, dataKey: version.uploadKey }
}

/** Rows to evaluate on, kept under the data set's version. */
export async function storeEvaluationRows(
  ctx: Ctx,
  version: DatasetVersion,
  rows: readonly unknown[],
): Promise<string> {
  const key = storageKeys.inline(ctx.accountId, version.id, `${randomUUID()}.jsonl`)
  await ctx.deps.storage.write(key, jsonLines(rows))
  return key
}

const jsonLines = (rows: readonly unknown[]) => Buffer.from(rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

const isUuid = (text: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
