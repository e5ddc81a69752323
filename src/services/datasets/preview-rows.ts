import type { RowPreview } from '../../domain/dataset-report.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/** Reads rows of the newest version. An upload that is not there has none. @throws ServiceError not_found; the signal's reason */
export async function previewDatasetRows({
  ctx,
  input: { datasetId, ...page },
  signal,
}: {
  ctx: Ctx
  input: { datasetId: string; offset: number; limit: number }
  signal: AbortSignal
}): Promise<RowPreview & { version: DatasetVersion }> {
  const version = await findDataset({ ctx, input: { datasetId } })
  const task = { accountId: ctx.accountId, key: version.uploadKey, ...page }
  const preview = await ctx.deps.datasets.preview(task, signal)
  return { version, ...(preview ?? { rows: [], columns: [], next: null }) }
}
