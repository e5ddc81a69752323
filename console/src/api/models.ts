// The queries about models.
import { queryOptions } from '@tanstack/react-query'
import type { ModelFacts } from '../domain/chat.ts'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'
import type { components } from './types.ts'

/** An older service does not say how a model learned, nor a name for people. */
export type Model = components['schemas']['ModelList']['data'][number] & ModelFacts & { display_name?: string }
const key = ['models'] as const
const lookAgainMs = 1000

/** After a model was deleted or an alias moved. */
export const refreshModels = () => queryClient.invalidateQueries({ queryKey: key })

export const modelsQuery = queryOptions({
  queryKey: key,
  queryFn: async ({ signal }): Promise<Model[]> => (await api.GET('/v1/models', { signal })).data,
})

/** A sentence on what the server of a model is doing while somebody waits for its first word. */
export const startQuery = (name: string) =>
  queryOptions({
    queryKey: [...key, 'start', name],
    queryFn: async ({ signal }) => {
      const { data } = await api.GET('/v1/models', { signal })
      return data.find(({ id, aliases }) => id === name || aliases.includes(name))?.starting ?? null
    },
    refetchInterval: lookAgainMs,
  })

const mostVersions = 100

export const versionsQuery = (name: string) =>
  queryOptions({
    queryKey: [...key, 'versions', name],
    queryFn: ({ signal }) =>
      api.GET('/v1/models/{name}', { params: { path: { name }, query: { limit: mostVersions } }, signal }),
  })

/** The card changes when the scores of the model come. */
export const cardQuery = (name: string) =>
  queryOptions({
    queryKey: [...key, 'card', name],
    queryFn: ({ signal }) => api.GET('/v1/models/{name}/card', { params: { path: { name } }, signal }),
  })

/** Begins the export, and asks until its files are there. */
export const exportQuery = (name: string, format: 'adapter' | 'merged') =>
  queryOptions({
    queryKey: ['export', name, format],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      // A repeat gives the same export.
      const { id } = await api.POST('/v1/models/{name}/export', {
        params: { path: { name } },
        body: { format },
        signal,
      })
      const params = { path: { name, export_id: id } }
      return api.GET('/v1/models/{name}/exports/{export_id}', { params, signal })
    },
    refetchInterval: ({ state: { data } }) => ['QUEUED', 'RUNNING'].includes(data?.status ?? '') && 2 * lookAgainMs,
  })
