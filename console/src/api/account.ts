// The queries about the account: its keys, limits, usage and audit trail.
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'
import { useNames } from './names.ts'
import { useMay } from './session.ts'
import type { components } from './types.ts'

/** The most that one page of the list holds. */
const mostKeys = 1000
const keysKey = ['keys'] as const

/** After a key was made, rotated or revoked. */
export const refreshKeys = () => queryClient.invalidateQueries({ queryKey: keysKey })

export const keysQuery = queryOptions({
  queryKey: keysKey,
  queryFn: async ({ signal }) => (await api.GET('/v1/keys', { params: { query: { limit: mostKeys } }, signal })).keys,
})

/** The session as the service sees it. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => api.GET('/v1/console/session', { signal }),
})

export const limitsQuery = queryOptions({
  queryKey: ['limits'],
  refetchInterval: 15_000,
  queryFn: ({ signal }) => api.GET('/v1/limits', { signal }),
})

export const auditQuery = (limit: number) =>
  queryOptions({
    queryKey: ['audit', limit],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => api.GET('/v1/audit', { params: { query: { limit } }, signal }),
  })

export type UsageGroup = 'day' | 'model' | 'key'
export type Used = components['schemas']['Usage']['usage'][number]

const usageEveryMs = 30_000

/** `currency` is absent where the operator has set no prices. */
export type Usage = { rows: Used[]; currency?: string | undefined }

/** @param from the first day, such as 2026-11-20 */
export const usageQuery = (from: string, group: UsageGroup | 'day,model') =>
  queryOptions({
    queryKey: ['usage', group, from],
    refetchInterval: usageEveryMs,
    queryFn: async ({ signal }): Promise<Usage> => {
      const rows: Used[] = []
      for (let after: string | null = null; ;) {
        const page: components['schemas']['Usage'] = await api.GET('/v1/usage', {
          params: { query: { from, group_by: group, limit: 1000, ...(after === null ? {} : { after }) } },
          signal,
        })
        rows.push(...page.usage)
        if (page.next === null) return { rows, currency: page.currency }
        after = page.next
      }
    },
  })

/** @param group '' for none */
export const trainingUsageQuery = (from: string, group: UsageGroup | '') =>
  queryOptions({
    queryKey: ['usage', 'training', from, group],
    refetchInterval: usageEveryMs,
    queryFn: async ({ signal }) => {
      const query = { from, ...(group === '' ? {} : { group_by: group }) }
      return (await api.GET('/v1/usage/training', { params: { query }, signal })).causes
    },
  })

type Group = { day?: string; model_name?: string; key_id?: string | null; key_name?: string | null }

/** @returns what to call a group of usage, '' without a group, and its id where people call it by a name */
export function useGroupNames(by: string): (group: Group) => { name: string; id?: string } {
  const { modelName } = useNames()
  const { data = [] } = useQuery({ ...keysQuery, enabled: useMay('admin') && by === 'key' })
  return ({ day, model_name: model, key_id: key, key_name: keyName }) => {
    if (model !== undefined) return { name: modelName(model), id: model }
    if (key) return { name: keyName ?? data.find(({ id }) => id === key)?.name ?? key, id: key }
    return { name: day ?? '' }
  }
}
