// The queries about data sets.
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { unless } from './errors.ts'
import { queryClient } from './query-client.ts'
import type { components } from './types.ts'

export type Report = components['schemas']['DatasetReport']
export type Preview = components['schemas']['DatasetRows']

const key = ['data'] as const
const most = 1000
const pathOf = (datasetId: string) => ({ path: { dataset_id: datasetId } })

/** After a data set was uploaded, made or deleted. */
export const refreshData = () => queryClient.invalidateQueries({ queryKey: key })

/** The first data sets by id, and whether there are more. */
export const datasetsQuery = queryOptions({
  queryKey: key,
  queryFn: ({ signal }) => api.GET('/v1/data', { params: { query: { limit: most } }, signal }),
})

/**
 * Reads the report; the service checks the data first when it has changed. Null for an unknown id.
 * @param model its tokens are counted; '' counts those of the model that was counted last
 * @param method the one that the rows are checked for; undefined for the one that takes them
 */
export const reportQuery = (datasetId: string, model = '', method?: Report['method']) =>
  queryOptions({
    queryKey: ['report', datasetId, model, method],
    enabled: datasetId !== '',
    // The rows stay in sight while the tokens of another model are counted.
    placeholderData: (known: Report | null | undefined) => (known?.dataset_id === datasetId ? known : undefined),
    queryFn: ({ signal }) => {
      const query = { ...(model !== '' && { model_name: model }), ...(method && { method }) }
      return unless(404, api.GET('/v1/data/{dataset_id}', { params: { ...pathOf(datasetId), query }, signal }))
    },
  })

/** The newest versions. */
export const datasetVersionsQuery = (datasetId: string) =>
  queryOptions({
    queryKey: [...key, datasetId],
    queryFn: ({ signal }) =>
      unless(404, api.GET('/v1/data/{dataset_id}/versions', { params: pathOf(datasetId), signal })),
  })

export type Columns = { input: string | null; output: string }

const fewRows = 3

/** The first three rows, as they would be read from these columns, or as they are read. */
export const columnsQuery = (datasetId: string, columns: Columns | null) =>
  queryOptions({
    queryKey: ['rows', datasetId, columns],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const { input = null, output } = columns ?? {}
      const query = { limit: fewRows, ...(output && { output_column: output, ...(input && { input_column: input }) }) }
      return unless(404, api.GET('/v1/data/{dataset_id}/rows', { params: { ...pathOf(datasetId), query }, signal }))
    },
  })

/** After the columns of a data set were chosen: its rows are read and checked again. */
export const refreshRows = (datasetId: string) =>
  Promise.all(
    [['rows', datasetId], ['report', datasetId], key].map((queryKey) => queryClient.invalidateQueries({ queryKey })),
  )

/** The first rows as the trainer reads them. */
export const previewQuery = (datasetId: string) =>
  queryOptions({
    queryKey: ['rows', datasetId],
    queryFn: ({ signal }) => unless(404, api.GET('/v1/data/{dataset_id}/rows', { params: pathOf(datasetId), signal })),
  })
