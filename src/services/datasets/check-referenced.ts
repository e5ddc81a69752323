import type { NamedReport } from '../../domain/data-sources.ts'
import type { DatasetReport } from '../../domain/dataset-report.ts'
import type { MethodName } from '../../domain/method-table.ts'
import type { ItemNeed } from '../../domain/reward-task.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { exportRows } from '../stored-data/export-rows.ts'
import { checkVersion } from './get-report.ts'
import { discardRows, openRows } from './ingest-rows.ts'
import { ofSet } from './resolve-several.ts'
import { findReferenced, noDataNamed, nothingUploaded, type DatasetReference } from './resolve.ts'

/** `needs`: the parts of an item that the graders of a job read. */
type Wanted = { model: string; method: MethodName; needs?: readonly ItemNeed[] }

/** `reports`: on each data set. `leftIn`: the data set whose upload is read instead of the request's rows. */
type Checked = { reports: NamedReport[]; leftIn: string | null }

/**
 * Checks the data that a training request names, and makes no data set of it. Tokens are those of the base model `model`, and
 * rows are read for the method.
 * @throws ServiceError invalid_input, unavailable while a long check runs
 */
export async function checkReferencedData(ctx: Ctx, reference: DatasetReference, wanted: Wanted): Promise<Checked> {
  const { parts, leftIn } = await readParts(ctx, reference, {
    version: (version) => checkVersion(ctx, version, wanted),
    rows: (rows) => checkRows(ctx, rows, wanted),
  })
  return { reports: parts.map(({ set, read }) => ({ ...read, ...(set !== undefined && { set }) })), leftIn }
}

type Parts<T> = { parts: { set?: string; read: T }[]; leftIn: string | null }

/** Reads each data set that a training request names; `set` is the name of one of several. @throws ServiceError invalid_input */
export async function readParts<T>(ctx: Ctx, reference: DatasetReference, reading: Reading<T>): Promise<Parts<T>> {
  const { sets, modelName } = reference
  if (!sets) {
    const { read, leftIn } = await readReferenced(ctx, reference, reading)
    return { parts: [{ read }], leftIn }
  }
  const parts: Parts<T>['parts'] = []
  for (const [index, { datasetId }] of sets.entries()) {
    const { read } = await ofSet(index, () => readReferenced(ctx, { datasetId, modelName }, reading))
    parts.push({ set: datasetId, read })
  }
  return { parts, leftIn: null }
}

/** `version` answers null when nothing is uploaded. `rows` are those of the request, or those that are kept under an id. */
type Reading<T> = {
  version: (version: DatasetVersion) => Promise<T | null>
  rows: (rows: { key: string }) => Promise<T>
}

/**
 * Reads the data that a training request names, and makes no data set of it.
 * @throws ServiceError invalid_input
 */
async function readReferenced<T>(
  ctx: Ctx,
  reference: DatasetReference,
  reading: Reading<T>,
): Promise<{ read: T; leftIn: string | null }> {
  const { storedCollection, version } = await findReferenced(ctx, reference)
  if (storedCollection !== null)
    return { read: await readStored(ctx, storedCollection, reference, reading), leftIn: null }
  const read = version && (await reading.version(version))
  if (read) return { read, leftIn: reference.rows ? version.datasetId : null }
  if (reference.rows) return { read: await reading.rows(reference.rows), leftIn: null }
  if (version) throw nothingUploaded(reference.uploadFilePath ? 'upload_file_path' : 'dataset_id', version.datasetId)
  throw noDataNamed(reference)
}

async function readStored<T>(
  ctx: Ctx,
  collection: string,
  { rows }: DatasetReference,
  reading: Reading<T>,
): Promise<T> {
  const exported = await openRows(ctx)
  try {
    const place = { accountId: ctx.accountId, collection }
    await inByteTurn(ctx, async () => {
      const more = rows ? await ctx.deps.storage.read(rows.key) : null
      await exportRows(ctx.deps, { place, more, key: exported.key })
    })
    return await reading.rows(exported)
  } finally {
    await discardRows(ctx, exported)
  }
}

export async function checkRows(
  { deps, accountId }: Ctx,
  { key }: { key: string },
  wanted: Wanted,
): Promise<DatasetReport> {
  const report = await deps.datasets.check({ accountId, key, ...wanted, columns: null })
  if (!report) throw new Error(`the rows at ${key} are gone`)
  return report
}
