// The cache of answers. Each resource has a file here with its queries: what they ask, under which keys, how often, and what
// a change makes stale.
import { QueryCache, QueryClient } from '@tanstack/react-query'
import { isOutage } from './errors.ts'
import { onSessionChange } from './session.ts'

const second = 1000

export const queryClient = new QueryClient({
  queryCache: new QueryCache(),
  defaultOptions: {
    queries: {
      // The browser's own idea of being offline says nothing about a service on this machine.
      networkMode: 'always',
      staleTime: second,
      // Pages heal by themselves when the service comes back.
      retry: (_count, error) => isOutage(error),
      retryDelay: (count) => Math.min(5 * second, 500 * 2 ** count),
    },
    mutations: { networkMode: 'always' },
  },
})

// Nothing of one account may show in the pages of the next.
onSessionChange(() => queryClient.clear())
