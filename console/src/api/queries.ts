// The pages ask these questions. Each says how long its answer stays fresh.
import { QueryCache, QueryClient, useQuery, type UseQueryOptions } from '@tanstack/react-query'
import { isOpen, mergeJobs } from '../domain/job-list.ts'
import { api } from './client.ts'
import { ApiError, isOutage } from './errors.ts'
import type { Attempt, Job, JobEvent, JobSummary } from './job.ts'
import { onSessionChange, useMay } from './session.ts'

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

const headSize = 100
/** The whole list is read again this often, for changes of older jobs. */
const wholeListMs = 60 * second

/**
 * All jobs of the account, newest first. The newest are there first, and are asked for every two seconds; the rest every
 * minute.
 */
export function useJobs() {
  const all = useQuery({
    queryKey: ['jobs'],
    queryFn: async ({ signal }) => (await api.GET('/v1/train/jobs', { signal })) as JobSummary[],
    staleTime: wholeListMs,
    refetchInterval: wholeListMs,
  })
  useQuery({
    queryKey: ['newest jobs'],
    queryFn: async ({ signal }) => {
      const params = { query: { limit: headSize } }
      const head = (await api.GET('/v1/train/jobs', { params, signal })) as JobSummary[]
      queryClient.setQueryData<JobSummary[]>(['jobs'], (known) => (known ? mergeJobs(known, head) : head))
      return null
    },
    refetchInterval: 2 * second,
  })
  return all
}

const jobPath = (id: number) => ({ path: { job_id: id } })

export const jobQuery = (id: number) => ({
  queryKey: ['job', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await api.GET('/v1/train/jobs/{job_id}', { params: jobPath(id), signal })) as Job,
})

/** A stream tells a page of changes. The page asks all the same, but seldom: the stream may be dead without an end. */
export type Watched = { isOpen: boolean; isFollowed: boolean }
export const askEvery = (watched: Watched) => watched.isOpen && (watched.isFollowed ? 60 : 2) * second

export function useJob(id: number, isFollowed = false) {
  return useQuery({
    ...jobQuery(id),
    refetchInterval: ({ state: { data } }) =>
      askEvery({ isOpen: data !== undefined && isOpen(data.status), isFollowed }),
  })
}

/** Records that grow while the job is open. */
type Growing<T> = Pick<UseQueryOptions<T>, 'queryKey' | 'queryFn'> & Watched

function useGrowing<T>({ isOpen: grows, isFollowed, ...query }: Growing<T>) {
  return useQuery({ ...query, refetchInterval: askEvery({ isOpen: grows, isFollowed }) })
}

export function useEvents(id: number, watched: Watched) {
  return useGrowing<JobEvent[]>({
    ...watched,
    queryKey: ['events', id],
    queryFn: async ({ signal }) => {
      const known = queryClient.getQueryData<JobEvent[]>(['events', id]) ?? []
      const events = [...known]
      for (let after = known.at(-1)?.id; ;) {
        const query = { limit: 1000, ...(after === undefined ? {} : { after }) }
        const params = { ...jobPath(id), query }
        const page = await api.GET('/v1/train/jobs/{job_id}/events', { params, signal })
        events.push(...page.events)
        if (page.next === null) return events
        after = page.next
      }
    },
  })
}

export function useAttempts(id: number, watched: Watched) {
  return useGrowing<Attempt[]>({
    ...watched,
    queryKey: ['attempts', id],
    queryFn: async ({ signal }) => {
      const params = { ...jobPath(id), query: { limit: 100 } }
      return (await api.GET('/v1/train/jobs/{job_id}/attempts', { params, signal })).attempts
    },
  })
}

/** Null while the job has no evaluation yet. */
export const evaluationQuery = (id: number) => ({
  queryKey: ['evaluation', id],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    try {
      return await api.GET('/v1/train/jobs/{job_id}/eval', { params: jobPath(id), signal })
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return null
      throw error
    }
  },
})

export const useEvaluation = (id: number, isReady: boolean) => useQuery({ ...evaluationQuery(id), enabled: isReady })

export function useModels() {
  return useQuery({
    queryKey: ['models'],
    queryFn: async ({ signal }) => (await api.GET('/v1/models', { signal })).data,
  })
}

const lookAgainMs = 1000

/** Gives a sentence on what the server of a model is doing while somebody waits for its first word. */
export function useStart(name: string, isAwaited: boolean) {
  const start = useQuery({
    queryKey: ['models', 'start', name],
    queryFn: async ({ signal }) => {
      const { data } = await api.GET('/v1/models', { signal })
      return data.find(({ id, aliases }) => id === name || aliases.includes(name))?.starting ?? null
    },
    enabled: isAwaited,
    refetchInterval: lookAgainMs,
  })
  return start.data ?? null
}

/** The most that one page of the list holds. */
const mostKeys = 1000

const keysQuery = {
  queryKey: ['keys'],
  queryFn: async ({ signal }: { signal: AbortSignal }) =>
    (await api.GET('/v1/keys', { params: { query: { limit: mostKeys } }, signal })).keys,
}

export const useKeys = () => useQuery(keysQuery)

/** The session as the service sees it. */
export const useServiceSession = () =>
  useQuery({ queryKey: ['session'], queryFn: ({ signal }) => api.GET('/v1/console/session', { signal }) })

type Group = { day?: string; model_name?: string; key_id?: string | null }

/** @returns what to call a group of usage; a key by its id alone where the session may not list keys; '' without a group */
export function useGroupNames(by: string): (group: Group) => string {
  const { data = [] } = useQuery({ ...keysQuery, enabled: useMay('admin') && by === 'key' })
  return ({ day, model_name: model, key_id: id }) => {
    const key = data.find((each) => each.id === id)
    return day ?? model ?? (key ? `${key.name} (${id})` : (id ?? ''))
  }
}
