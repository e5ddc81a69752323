// Finds the data sets of a training request that lists several.
import type { DataSource } from '../../domain/data-sources.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { resolveDataset, type DataSet } from './resolve.ts'

/** The newest version of each. @throws ServiceError invalid_input, quota_exceeded */
export async function resolveSources(ctx: Ctx, sets: readonly DataSet[]): Promise<[DataSource, ...DataSource[]]> {
  const sources: DataSource[] = []
  for (const [index, { datasetId, weight }] of sets.entries()) {
    const found = await ofSet(index, () => resolveDataset(ctx, { datasetId, modelName: '' }))
    sources.push({ datasetId: found.datasetId, versionId: found.id, dataKey: found.uploadKey, weight })
  }
  const [first, ...others] = sources
  if (!first) throw new Error('a list of data sets is empty')
  return [first, ...others]
}

/** An error names the entry of the list. */
export async function ofSet<T>(index: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_input')
      throw invalidInput(`datasets[${index}].dataset_id`, error.message)
    throw error
  }
}
