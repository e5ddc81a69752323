// Finds the data set of a training request. Clients name it in one, two or three ways at once.
import { parseDatasetId } from '../../domain/dataset-id.ts'
import { isUuid } from '../../domain/identifiers.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { collectionDatasetId, collectionName } from '../../domain/stored-data.ts'
import type { DatasetVersion, FoundVersion } from '../../repositories/datasets.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { keepRows, openRows, type ReceivedRows } from './ingest-rows.ts'
import { acceptUpload } from '../limits/account-quotas.ts'
import { exportRows } from '../stored-data/export-rows.ts'

/** One of several data sets, with its weight beside the others. */
export type DataSet = { datasetId: string; weight: number }

export type DatasetReference = {
  uploadFilePath?: string | undefined
  datasetId?: string | undefined
  /** Several data sets, instead of one. */
  sets?: readonly DataSet[] | undefined
  /** Rows that came inside the request; `[]` means none. */
  rows?: ReceivedRows | undefined
  isPublic?: boolean | undefined
  /** Rows kept under it are used, all of them. */
  storedId?: string | undefined
  /** Rows kept under the model's name are used where nothing else is named. */
  modelName: string
}

/** `leavesRows`: rows came with the request and are not read, because the data set that it names has an upload. */
type ResolvedVersion = DatasetVersion & { leavesRows?: boolean }

/** Finds the version to train on; rows become a new one. @throws ServiceError invalid_input */
export async function resolveDataset(ctx: Ctx, reference: DatasetReference): Promise<ResolvedVersion> {
  const stored = await resolveStored(ctx, reference)
  if (stored) return stored
  const named = await findNamed(ctx, reference)
  if (named) {
    if (named.wasSeen || (await acceptUpload(ctx, named))) return { ...named, leavesRows: reference.rows !== undefined }
    if (!reference.rows)
      throw nothingUploaded(reference.uploadFilePath === undefined ? 'dataset_id' : 'upload_file_path', named.datasetId)
  }
  if (reference.rows) return keepInline(ctx, reference, reference.rows)
  throw noDataNamed(reference)
}

export const noDataNamed = ({ datasetId }: DatasetReference) =>
  datasetId === undefined
    ? invalidInput('upload_file_path', 'Name the training data: upload_file_path, dataset_id, datasets, data or id.')
    : invalidInput('dataset_id', `There is no data set "${datasetId}". Upload it first: POST /v1/data.`)

/** Finds what `resolveDataset` would train on, and creates nothing. @throws ServiceError invalid_input */
export async function findReferenced(
  ctx: Ctx,
  reference: DatasetReference,
): Promise<{ storedCollection: string | null; version: FoundVersion | null }> {
  const storedCollection = await findStored(ctx, reference)
  return { storedCollection, version: storedCollection === null ? await findNamed(ctx, reference) : null }
}

export const rowsLeft = (datasetId: string) => ({
  code: 'data_not_read',
  message: `data has no effect: the data set "${datasetId}" has an upload, which is trained on. Send data under another dataset_id to train on it.`,
})

export const nothingUploaded = (field: string, datasetId: string) =>
  invalidInput(
    field,
    `Nothing was uploaded to the data set "${datasetId}": PUT the file to its dataset_location first.`,
  )

/** Inline rows come after the stored ones; `datasetId` names what comes of both. */
async function resolveStored(ctx: Ctx, reference: DatasetReference) {
  const collection = await findStored(ctx, reference)
  if (collection === null) return null
  const place = { accountId: ctx.accountId, collection }
  const { datasetId, rows, isPublic } = reference
  const ownId = datasetId === undefined ? collectionDatasetId(ctx.accountId, collection) : parseDatasetId(datasetId)
  return exportStored(ctx, { place, rows, datasetId: ownId, isPublic: isPublic ?? false })
}

/** @returns the collection of the rows kept under the reference's id or model, or null when they are not meant */
async function findStored(
  ctx: Ctx,
  { storedId, modelName, uploadFilePath, datasetId, rows }: DatasetReference,
): Promise<string | null> {
  const isNamed = [uploadFilePath, datasetId, rows].some((each) => each !== undefined)
  if (storedId === undefined && isNamed) return null
  const collection = collectionName(ctx.deps.catalogue, storedId ?? modelName)
  if (!(await ctx.deps.database.storedRows.exists({ accountId: ctx.accountId, collection }))) {
    if (storedId === undefined || isNamed) return null
    throw invalidInput('id', `Nothing is kept under the id "${storedId}": POST /v1/svc/data stores rows there.`)
  }
  if (uploadFilePath !== undefined)
    throw invalidInput('upload_file_path', 'Train on an uploaded file or on the rows kept under an id, not on both.')
  return collection
}

async function exportStored(
  ctx: Ctx,
  {
    place,
    rows,
    ...options
  }: { place: Collection; rows: ReceivedRows | undefined; datasetId: string; isPublic: boolean },
): Promise<DatasetVersion> {
  const exported = await openRows(ctx)
  exported.sizeBytes = await inByteTurn(ctx, async () => {
    const more = rows ? await ctx.deps.storage.read(rows.key) : null
    return exportRows(ctx.deps, { place, more, key: exported.key })
  })
  return keepRows(ctx, exported, options, alone)
}

async function findNamed(ctx: Ctx, { uploadFilePath, datasetId }: DatasetReference): Promise<FoundVersion | null> {
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

/** The upload that a location names. It need not exist. */
export function placeOf(ctx: Ctx, { uploadFilePath, storedId, rows }: DatasetReference): Place | null {
  return uploadFilePath === undefined || storedId !== undefined || rows ? null : placeAt(ctx, uploadFilePath)
}

type Place = Pick<DatasetVersion, 'id' | 'uploadKey'>

function placeAt({ deps: { storage } }: Ctx, location: string): Place | null {
  const prefixes = [storage.urlPrefix, `s3://${storage.bucket}/`, `/${storage.bucket}/`, `${storage.bucket}/`, '/']
  const path = location.split('?')[0] ?? ''
  const prefix = prefixes.find((each) => path.startsWith(each)) ?? ''
  const uploadKey = decodePath(path.slice(prefix.length))
  const id = versionIdOf(uploadKey)
  return id !== undefined && isUuid(id) ? { id, uploadKey } : null
}

/** Accepts the presigned URL (its query does not matter), `s3://`, the object's path, or the bare data set id. */
async function findByLocation(ctx: Ctx, location: string): Promise<FoundVersion | null> {
  const { datasets } = ctx.deps.database
  const place = placeAt(ctx, location)
  if (!place) return /^[\w.-]+$/.test(location) ? datasets.newestVersion(ctx.accountId, location) : null
  const version = await datasets.findVersion(ctx.accountId, place.id)
  return version?.uploadKey === place.uploadKey ? version : null
}

/** The job follows in a transaction of its own: a data set without one does no harm. */
const alone = (_tx: unknown, version: DatasetVersion) => Promise.resolve(version)

const keepInline = (ctx: Ctx, { datasetId, isPublic }: DatasetReference, rows: ReceivedRows) => {
  const id = datasetId === undefined ? undefined : parseDatasetId(datasetId)
  return keepRows(ctx, rows, { datasetId: id, isPublic: isPublic ?? false }, alone)
}

/** The version id in the key of an upload, or of rows that came inside a request. */
const versionIdOf = (key: string) =>
  /^uploads\/[^/]+\/[^/]+\/([^/]+)$/.exec(key)?.[1] ?? /^inline\/[^/]+\/([^/]+)\/rows\.jsonl$/.exec(key)?.[1]

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return ''
  }
}
