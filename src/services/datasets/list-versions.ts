import type { ListedVersion } from '../../domain/dataset-report.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/**
 * Lists the versions of a data set, the newest first.
 * @returns `next` is the version to continue after; null at the end
 * @throws ServiceError not_found
 */
export async function listDatasetVersions({
  ctx,
  input: { datasetId, after, limit },
}: {
  ctx: Ctx
  input: { datasetId: string; after: number | null; limit: number }
}): Promise<{ versions: ListedVersion[]; next: number | null }> {
  await findDataset({ ctx, input: { datasetId } })
  const versions = await ctx.deps.database.datasets.listVersions(ctx.accountId, { datasetId, after, limit })
  return { versions, next: versions.length === limit ? (versions.at(-1)?.version ?? null) : null }
}
