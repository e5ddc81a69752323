import { useQuery } from '@tanstack/react-query'
import { answerOf, api, getIfThere } from './client.ts'
import { ApiError } from './errors.ts'
import { useCapabilities } from './queries.ts'
import type { components } from './types.ts'

export type Report = components['schemas']['DatasetReport']

export type Dataset = { id: string; name: string; rows: number | null; bytes: number | null; created: string | null }

/** What a service with a list of data sets says of each. */
type Listed = {
  dataset_id?: string
  id?: string
  rows?: number | null
  bytes?: number | null
  size_bytes?: number | null
  created_at?: string | null
  file_name?: string | null
}

/** The data sets of the account; on a service without such a list, the files that were uploaded. */
export function useDatasets() {
  const capabilities = useCapabilities()
  return useQuery({
    queryKey: ['data'],
    enabled: capabilities.data !== undefined,
    queryFn: async ({ signal }): Promise<Dataset[]> => {
      if (capabilities.data?.has('get', '/v1/data')) {
        const answer = await getIfThere<Record<string, unknown>>('/v1/data?limit=100', signal)
        const list = Object.values(answer ?? {}).find(Array.isArray) as Listed[] | undefined
        if (list) return list.map(datasetOf)
      }
      const { data } = await answerOf(api.GET('/openai/v1/files', { params: { query: { limit: 1000 } }, signal }))
      return data.map(({ id, filename, bytes, created_at: at }) => ({
        ...{ id, name: filename, rows: null, bytes },
        created: new Date(at * 1000).toISOString(),
      }))
    },
  })
}

const datasetOf = (listed: Listed): Dataset => {
  const id = listed.dataset_id ?? listed.id ?? ''
  return {
    id,
    name: listed.file_name ?? id,
    rows: listed.rows ?? null,
    bytes: listed.bytes ?? listed.size_bytes ?? null,
    created: listed.created_at ?? null,
  }
}

/** Reads the report; the service checks the data first when it has changed. Null for an unknown id. */
export function useReport(datasetId: string) {
  return useQuery({
    queryKey: ['report', datasetId],
    enabled: datasetId !== '',
    queryFn: async ({ signal }): Promise<Report | null> => {
      const params = { path: { dataset_id: datasetId } }
      return answerOf(api.GET('/v1/data/{dataset_id}', { params, signal })).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      })
    },
  })
}

export type PreviewRow = Record<string, unknown>

/** The first rows as they are read, where the service shows them. */
export function usePreview(datasetId: string) {
  const capabilities = useCapabilities()
  const isThere = capabilities.data?.has('get', '/v1/data/{dataset_id}/rows') ?? false
  return useQuery({
    queryKey: ['rows', datasetId],
    enabled: isThere && datasetId !== '',
    queryFn: async ({ signal }): Promise<PreviewRow[] | null> => {
      const path = `/v1/data/${encodeURIComponent(datasetId)}/rows?limit=20`
      const answer = await getIfThere<{ rows?: PreviewRow[] }>(path, signal)
      return answer?.rows ?? null
    },
  })
}
