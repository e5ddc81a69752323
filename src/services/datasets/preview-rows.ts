import type { Columns, RowPreview } from '../../domain/dataset-report.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/** Reads rows of the newest version, by these columns or by its own. An upload that is not there has none. @throws ServiceError not_found; the signal's reason */
export async function previewDatasetRows({
  ctx,
  input: { datasetId, columns: given, ...page },
  signal,
}: {
  ctx: Ctx
  input: { datasetId: string; columns: Columns | null; offset: number; limit: number }
  signal: AbortSignal
}): Promise<RowPreview & { version: DatasetVersion }> {
  const version = await findDataset({ ctx, input: { datasetId } })
  const columns = given ?? (await ctx.deps.database.datasets.columns(version.id))
  const task = { accountId: ctx.accountId, key: version.uploadKey, columns, ...page }
  const preview = await ctx.deps.datasets.preview(task, signal)
  const none = { rows: [], columns: [], readColumns: columns, separator: null, proposedColumns: null, next: null }
  return { version, ...(preview ?? none) }
}
