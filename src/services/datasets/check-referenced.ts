import type { DatasetReport } from '../../domain/dataset-report.ts'
import type { MethodName } from '../../domain/method-table.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { exportRows } from '../stored-data/export-rows.ts'
import { checkVersion } from './get-report.ts'
import { discardRows, openRows } from './ingest-rows.ts'
import { findReferenced, noDataNamed, nothingUploaded, type DatasetReference } from './resolve.ts'

type Wanted = { model: string; method: MethodName }

/** `leftIn`: the data set whose upload is read instead of the request's rows. */
type Checked = { report: DatasetReport; leftIn: string | null }

/**
 * Checks the data that a training request names, and makes no data set of it. Tokens are those of the base model `model`, and
 * rows are read for the method.
 * @throws ServiceError invalid_input, unavailable while a long check runs
 */
export async function checkReferencedData(ctx: Ctx, reference: DatasetReference, wanted: Wanted): Promise<Checked> {
  const { storedCollection, version } = await findReferenced(ctx, reference)
  if (storedCollection !== null)
    return { report: await checkStored(ctx, storedCollection, reference, wanted), leftIn: null }
  const report = version && (await checkVersion(ctx, version, wanted))
  if (report) return { report, leftIn: reference.rows ? version.datasetId : null }
  if (reference.rows) return { report: await checkRows(ctx, reference.rows, wanted), leftIn: null }
  if (version) throw nothingUploaded(reference.uploadFilePath ? 'upload_file_path' : 'dataset_id', version.datasetId)
  throw noDataNamed(reference)
}

async function checkStored(
  ctx: Ctx,
  collection: string,
  { rows }: DatasetReference,
  wanted: Wanted,
): Promise<DatasetReport> {
  const exported = await openRows(ctx)
  try {
    const place = { accountId: ctx.accountId, collection }
    await inByteTurn(ctx, async () => {
      const more = rows ? await ctx.deps.storage.read(rows.key) : null
      await exportRows(ctx.deps, { place, more, key: exported.key })
    })
    return await checkRows(ctx, exported, wanted)
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
