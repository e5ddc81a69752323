import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/** Stores the row count that a client announces. The check counts for itself. @throws ServiceError not_found */
export async function recordRowCount({
  ctx,
  input: { datasetId, rowCount },
}: {
  ctx: Ctx
  input: { datasetId: string; rowCount: number }
}) {
  const { id } = await findDataset({ ctx, input: { datasetId } })
  await recordAudit(ctx.deps.database, ctx, 'data.announce', datasetId)
  await ctx.deps.database.datasets.recordRowCount(id, rowCount)
}
