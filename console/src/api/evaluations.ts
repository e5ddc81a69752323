// The queries about evaluations of models on a data set.
import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'
import type { components } from './types.ts'

export type ModelEvaluation = components['schemas']['ModelEvaluation']
export type EvaluatedRow = components['schemas']['EvaluationRows']['rows'][number]

const key = ['evaluations'] as const
const openEveryMs = 2000
const pathOf = (id: string) => ({ path: { id } })

export const isOpenEvaluation = ({ status }: ModelEvaluation) => status === 'QUEUED' || status === 'RUNNING'

/** After an evaluation was created or cancelled. */
export const refreshEvaluations = () => queryClient.invalidateQueries({ queryKey: key })

/** The newest evaluations, and whether there are older ones. */
export const evaluationsQuery = queryOptions({
  queryKey: key,
  queryFn: ({ signal }) => api.GET('/v1/evaluations', { signal }),
  refetchInterval: ({ state: { data } }) => data?.evaluations.some(isOpenEvaluation) === true && openEveryMs,
})

export const modelEvaluationQuery = (id: string) =>
  queryOptions({
    queryKey: [...key, id],
    queryFn: ({ signal }) => api.GET('/v1/evaluations/{id}', { params: pathOf(id), signal }),
    refetchInterval: ({ state: { data } }) => data !== undefined && isOpenEvaluation(data) && openEveryMs,
  })

const rowsOfPage = 128

/** All rows with the answers and scores. An evaluation has at most 2,000. */
export const evaluationRowsQuery = (id: string, isOpen: boolean) =>
  queryOptions({
    queryKey: [...key, id, 'rows', isOpen],
    enabled: !isOpen,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const rows: EvaluatedRow[] = []
      for (let offset: number | null = 0; offset !== null;) {
        const params = { ...pathOf(id), query: { offset, limit: rowsOfPage } }
        const page: components['schemas']['EvaluationRows'] = await api.GET('/v1/evaluations/{id}/rows', {
          params,
          signal,
        })
        rows.push(...page.rows)
        offset = page.next
      }
      return rows
    },
  })
