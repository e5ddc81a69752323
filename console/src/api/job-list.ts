// The queries about the list of jobs: pages of a filter, the first page again while nothing is known to run, and the open jobs
// in sight every two seconds. The service answers 304 while nothing has changed.
import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useInfiniteQuery,
  useQuery,
  type InfiniteData,
} from '@tanstack/react-query'
import { isOpen, mergeHead, withNewer, type JobsQuery } from '../domain/job-list.ts'
import { api } from './client.ts'
import type { JobBrief } from './job.ts'
import { queryClient } from './query-client.ts'

const second = 1000
const openEvery = 2 * second
/** Jobs that somebody else submits appear within this time. */
const headEvery = { busy: 10 * second, idle: 30 * second }
const pageSize = 100
const headSize = 20
const mostAsked = 100

export const jobListKey = ['jobs'] as const

type Page = { jobs: JobBrief[]; next: string | null }
type Pages = InfiniteData<Page, string | undefined>

const readPage = (query: JobsQuery, { limit = pageSize, after, signal }: PageOptions): Promise<Page> =>
  api.GET('/v1/train/jobs/briefs', { params: { query: { ...query, limit, ...(after && { after }) } }, signal })

type PageOptions = { limit?: number; after?: string | undefined; signal: AbortSignal }

const pagesKey = (query: JobsQuery) => [...jobListKey, 'pages', query] as const

const pagesQuery = (query: JobsQuery) =>
  infiniteQueryOptions({
    queryKey: pagesKey(query),
    queryFn: ({ pageParam: after, signal }) => readPage(query, { after, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    staleTime: headEvery.idle,
    // The first page and the open jobs are asked for by themselves.
    refetchOnWindowFocus: false,
  })

const headQuery = (query: JobsQuery, everyMs: number) =>
  queryOptions({
    queryKey: [...jobListKey, 'head', query],
    queryFn: async ({ signal }) => {
      const head = await readPage(query, { limit: headSize, signal })
      const known = queryClient.getQueryData<Pages>(pagesKey(query))
      const [first, ...others] = known?.pages ?? []
      const jobs = first && mergeHead(first.jobs, head)
      if (known && first && jobs)
        queryClient.setQueryData<Pages>(pagesKey(query), { ...known, pages: [{ ...first, jobs }, ...others] })
      else void queryClient.invalidateQueries({ queryKey: pagesKey(query) })
      return head.jobs.length
    },
    // The pages have just been read.
    initialData: 0,
    staleTime: everyMs,
    refetchInterval: everyMs,
  })

const openQuery = (ids: readonly number[]) =>
  queryOptions({
    queryKey: [...jobListKey, 'open', ids.join()],
    enabled: ids.length > 0,
    refetchInterval: openEvery,
    queryFn: async ({ signal }) => {
      const { jobs } = await api.GET('/v1/train/jobs/briefs', { params: { query: { job_ids: ids.join() } }, signal })
      queryClient.setQueriesData<Pages>(
        { queryKey: [...jobListKey, 'pages'] },
        (known) =>
          known && { ...known, pages: known.pages.map((page) => ({ ...page, jobs: withNewer(page.jobs, jobs) })) },
      )
      return jobs.length
    },
  })

/** The pages of the list that were read so far, kept as new as the service knows them. */
export function useJobPages(query: JobsQuery) {
  const pages = useInfiniteQuery(pagesQuery(query))
  const isBusy = pages.data?.pages.some(({ jobs }) => jobs.some(({ status }) => isOpen(status))) ?? false
  useQuery({ ...headQuery(query, isBusy ? headEvery.busy : headEvery.idle), enabled: pages.data !== undefined })
  return pages
}

/** Asks often for the open ones of these jobs, the ones in sight. */
export function useOpenJobs(shown: readonly JobBrief[]) {
  const ids = shown.filter(({ status }) => isOpen(status)).map(({ job_id: id }) => id)
  useQuery(openQuery(ids.slice(0, mostAsked)))
}

const newest: JobsQuery = {}

/** The newest jobs, for the names of jobs on other pages. */
const newestJobsQuery = queryOptions({
  queryKey: [...jobListKey, 'newest'],
  queryFn: async ({ signal }) => (await readPage(newest, { signal })).jobs,
  staleTime: headEvery.idle,
})
export const useJobs = () => useQuery(newestJobsQuery)

/** Reads all jobs of a filter, for an action on all of them. */
export async function allJobs(query: JobsQuery, signal: AbortSignal): Promise<JobBrief[]> {
  const found: JobBrief[] = []
  for (let after: string | undefined; ;) {
    const { jobs, next } = await readPage(query, { limit: 1000, after, signal })
    found.push(...jobs)
    if (next === null) return found
    after = next
  }
}

const mostNamed = 20

/** The jobs with this part of a name, for an account that has more jobs than the newest ones. */
export const namedJobsQuery = (text: string) =>
  queryOptions({
    queryKey: [...jobListKey, 'named', text],
    placeholderData: keepPreviousData,
    staleTime: headEvery.idle,
    queryFn: async ({ signal }) => (await readPage({ q: text }, { limit: mostNamed, signal })).jobs,
  })
