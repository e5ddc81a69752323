import { useQuery } from '@tanstack/react-query'
import { api } from './client.ts'
import { ApiError } from './errors.ts'
import type { components } from './types.ts'

export type Report = components['schemas']['DatasetReport']

const most = 1000

/** The first data sets by id, and whether there are more. */
export function useDatasets() {
  return useQuery({
    queryKey: ['data'],
    queryFn: ({ signal }) => api.GET('/v1/data', { params: { query: { limit: most } }, signal }),
  })
}

const pathOf = (datasetId: string) => ({ path: { dataset_id: datasetId } })

async function nullIfUnknown<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null
    throw error
  }
}

/** Reads the report; the service checks the data first when it has changed. Null for an unknown id. */
export function useReport(datasetId: string) {
  return useQuery({
    queryKey: ['report', datasetId],
    enabled: datasetId !== '',
    queryFn: ({ signal }) => nullIfUnknown(api.GET('/v1/data/{dataset_id}', { params: pathOf(datasetId), signal })),
  })
}

/** The newest versions. */
export function useVersions(datasetId: string) {
  return useQuery({
    queryKey: ['data', datasetId],
    queryFn: ({ signal }) =>
      nullIfUnknown(api.GET('/v1/data/{dataset_id}/versions', { params: pathOf(datasetId), signal })),
  })
}

/** The first rows as the trainer reads them. */
export function usePreview(datasetId: string) {
  return useQuery({
    queryKey: ['rows', datasetId],
    queryFn: ({ signal }) =>
      nullIfUnknown(api.GET('/v1/data/{dataset_id}/rows', { params: pathOf(datasetId), signal })),
  })
}
