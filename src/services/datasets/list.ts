import { invalidInput } from '../../domain/service-error.ts'
import { isDatasetId } from '../../domain/dataset-id.ts'
import type { ListedDataset } from '../../domain/dataset-report.ts'
import type { Ctx } from '../context.ts'

/**
 * Lists the account's data sets by their ids.
 * @returns `next` is the id to continue after; null at the end
 * @throws ServiceError invalid_input
 */
export async function listDatasets({
  ctx: { deps, accountId },
  input: { after, limit },
}: {
  ctx: Ctx
  input: { after: string | null; limit: number }
}): Promise<{ datasets: ListedDataset[]; next: string | null }> {
  if (after !== null && !isDatasetId(after)) throw invalidInput('after', 'after must be `next` of an earlier page.')
  const datasets = await deps.database.datasets.list(accountId, { after, limit })
  return { datasets, next: datasets.length === limit ? (datasets.at(-1)?.datasetId ?? null) : null }
}
