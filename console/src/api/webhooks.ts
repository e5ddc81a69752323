// The queries about webhooks.
import { queryOptions } from '@tanstack/react-query'
import { api } from './client.ts'
import { queryClient } from './query-client.ts'

const key = ['webhooks'] as const

export const refreshWebhooks = () => queryClient.invalidateQueries({ queryKey: key })

export const webhooksQuery = queryOptions({
  queryKey: key,
  queryFn: async ({ signal }) => (await api.GET('/v1/webhooks', { signal })).webhooks,
})

export const deliveriesQuery = (id: string) =>
  queryOptions({
    queryKey: [...key, id, 'deliveries'],
    refetchInterval: 5000,
    queryFn: async ({ signal }) => {
      const params = { path: { webhook_id: id }, query: { limit: 50 } }
      return (await api.GET('/v1/webhooks/{webhook_id}/deliveries', { params, signal })).deliveries
    },
  })
