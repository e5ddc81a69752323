// The queries about one training job.
import { queryOptions } from '@tanstack/react-query'
import { mergeMetrics, metricOf, type Metric, type ToldMetric } from '../domain/curve.ts'
import type { TrainRequest } from '../domain/job-form.ts'
import { isOpen } from '../domain/job-list.ts'
import { api } from './client.ts'
import { unless } from './errors.ts'
import { jobListKey } from './job-list.ts'
import type { JobEvent } from './job.ts'
import { queryClient } from './query-client.ts'
import type { components } from './types.ts'

const second = 1000

/** The queries about one job, each under a key of its own. */
export type JobPart = 'job' | 'events' | 'attempts' | 'metrics' | 'log' | 'evaluation' | 'checkpoints' | 'rollouts'

const jobKey = (id: number) => ['job', id] as const
export const partKey = (id: number, part: JobPart) => [...jobKey(id), part] as const

/** After a job was submitted, cancelled or resumed. */
export const refreshJobs = (ids: readonly number[] = []) =>
  Promise.all([jobListKey, ...ids.map(jobKey)].map((queryKey) => queryClient.invalidateQueries({ queryKey })))

const jobPath = (id: number) => ({ path: { job_id: id } })

/** A stream tells a page of changes. The page asks all the same, but seldom: the stream may be dead without an end. */
export type Watched = { isOpen: boolean; isFollowed: boolean }
const unwatched: Watched = { isOpen: false, isFollowed: false }
const askEvery = (watched: Watched) => watched.isOpen && (watched.isFollowed ? 60 : 2) * second

export const jobQuery = (id: number, isFollowed = false) =>
  queryOptions({
    queryKey: partKey(id, 'job'),
    queryFn: ({ signal }) => api.GET('/v1/train/jobs/{job_id}', { params: jobPath(id), signal }),
    refetchInterval: ({ state: { data } }) =>
      askEvery({ isOpen: data !== undefined && isOpen(data.status), isFollowed }),
  })

export const eventsQuery = (id: number, watched: Watched) =>
  queryOptions({
    queryKey: partKey(id, 'events'),
    refetchInterval: askEvery(watched),
    queryFn: async ({ signal, queryKey }) => {
      const known = queryClient.getQueryData<JobEvent[]>(queryKey) ?? []
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

export const attemptsQuery = (id: number, watched: Watched) =>
  queryOptions({
    queryKey: partKey(id, 'attempts'),
    refetchInterval: askEvery(watched),
    queryFn: async ({ signal }) => {
      const params = { ...jobPath(id), query: { limit: 100 } }
      return (await api.GET('/v1/train/jobs/{job_id}/attempts', { params, signal })).attempts
    },
  })

const metricsPage = 10_000

/** The numbers of every step. A running job is asked only for the steps that are new. */
export const metricsQuery = (id: number, watched = unwatched) =>
  queryOptions({
    queryKey: partKey(id, 'metrics'),
    refetchInterval: askEvery(watched),
    queryFn: async ({ signal, queryKey }) => {
      let metrics = queryClient.getQueryData<Metric[]>(queryKey) ?? []
      for (let since = metrics.at(-1)?.step ?? 0; ;) {
        const params = { ...jobPath(id), query: { since_step: since, limit: metricsPage } }
        const page = await api.GET('/v1/train/jobs/{job_id}/metrics', { params, signal })
        metrics = mergeMetrics(metrics, (page.metrics as ToldMetric[]).map(metricOf))
        if (page.next === null) return metrics
        since = page.next
      }
    },
  })

type Log = { text: string; offset: number; isComplete: boolean }

const partBytes = 1_048_576
/** The page keeps the end of a longer log. */
const keptCharacters = 2_000_000

/** The log of an attempt, read on from where it ended. */
export const logQuery = (id: number, attempt: number | undefined, { isOpen: grows, isFollowed }: Watched) =>
  queryOptions({
    queryKey: [...partKey(id, 'log'), attempt],
    enabled: attempt !== undefined,
    queryFn: async ({ signal, queryKey }) => {
      let read = queryClient.getQueryData<Log>(queryKey) ?? { text: '', offset: 0, isComplete: false }
      for (;;) {
        const query = { ...(attempt === undefined ? {} : { attempt }), offset: read.offset, limit: partBytes }
        const params = { ...jobPath(id), query }
        const part = await unless(404, api.GET('/v1/train/jobs/{job_id}/logs', { params, signal }))
        if (part === null) return read
        const isDone = part.next_offset === read.offset || part.complete
        const text = (read.text + part.text).slice(-keptCharacters)
        read = { text, offset: part.next_offset, isComplete: part.complete }
        if (isDone) return read
      }
    },
    refetchInterval: ({ state }) => askEvery({ isOpen: grows && !state.data?.isComplete, isFollowed }),
  })

/** Null while the job has no evaluation yet. */
export const evaluationQuery = (id: number) =>
  queryOptions({
    queryKey: partKey(id, 'evaluation'),
    queryFn: ({ signal }) => unless(409, api.GET('/v1/train/jobs/{job_id}/eval', { params: jobPath(id), signal })),
  })

/** Null where no answers are stored. `step`: as typed; the newest one when empty. */
export const rolloutsQuery = (id: number, step: string, grows: boolean) =>
  queryOptions({
    queryKey: [...partKey(id, 'rollouts'), step],
    refetchInterval: grows && step === '' ? 5 * second : false,
    queryFn: ({ signal }) => {
      const query = { limit: 100, ...(step !== '' && { step: Number(step) }) }
      const params = { ...jobPath(id), query }
      return unless(404, api.GET('/v1/train/jobs/{job_id}/rollouts', { params, signal }))
    },
  })

const mostCheckpoints = 100

export const checkpointsQuery = (id: number, grows: boolean) =>
  queryOptions({
    queryKey: partKey(id, 'checkpoints'),
    refetchInterval: grows ? 5 * second : false,
    queryFn: async ({ signal }) => {
      const params = { path: { fine_tuning_job_id: `ftjob-${id}` }, query: { limit: mostCheckpoints } }
      return (await api.GET('/openai/v1/fine_tuning/jobs/{fine_tuning_job_id}/checkpoints', { params, signal })).data
    },
  })

export type Methods = components['schemas']['TrainingMethods']['methods']

/** The methods of training, and their hyperparameters. */
export const methodsQuery = queryOptions({
  queryKey: ['methods'],
  staleTime: Infinity,
  queryFn: async ({ signal }) => (await api.GET('/v1/train/methods', { signal })).methods,
})

/** Estimates the time of a job. The service starts nothing. */
export const estimateQuery = (request: TrainRequest) =>
  queryOptions({
    queryKey: ['estimate', request],
    staleTime: 60 * second,
    queryFn: async ({ signal }) => {
      const answer = await api.POST('/v1/train', { params: { query: { dry_run: 'true' } }, body: request, signal })
      return answer as components['schemas']['TrainingEstimate']
    },
  })
