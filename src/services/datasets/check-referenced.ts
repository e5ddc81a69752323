import type { DatasetReport } from '../../domain/dataset-report.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { exportRows } from '../stored-data/export-rows.ts'
import { checkVersion } from './get-report.ts'
import { discardRows, openRows } from './ingest-rows.ts'
import { findReferenced, noDataNamed, nothingUploaded, type DatasetReference } from './resolve.ts'

/**
 * Checks the data that a training request names, and makes no data set of it.
 * @throws ServiceError invalid_input, unavailable while a long check runs
 */
export async function checkReferencedData(ctx: Ctx, reference: DatasetReference): Promise<DatasetReport> {
  const { storedCollection, version } = await findReferenced(ctx, reference)
  if (storedCollection !== null) return checkStored(ctx, storedCollection, reference)
  const report = version && (await checkVersion(ctx, version))
  if (report) return report
  if (reference.rows) return checkRows(ctx, reference.rows)
  if (version) throw nothingUploaded(reference.uploadFilePath ? 'upload_file_path' : 'dataset_id', version.datasetId)
  throw noDataNamed(reference)
}

async function checkStored(ctx: Ctx, collection: string, { rows }: DatasetReference): Promise<DatasetReport> {
  const exported = await openRows(ctx)
  try {
    const place = { accountId: ctx.accountId, collection }
    await inByteTurn(ctx, async () => {
      const more = rows ? await ctx.deps.storage.read(rows.key) : null
      await exportRows(ctx.deps, { place, more, key: exported.key })
    })
    return await checkRows(ctx, exported)
  } finally {
    await discardRows(ctx, exported)
  }
}

export async function checkRows({ deps, accountId }: Ctx, { key }: { key: string }): Promise<DatasetReport> {
  const report = await deps.datasets.check({ accountId, key, columns: null })
  if (!report) throw new Error(`the rows at ${key} are gone`)
  return report
}
