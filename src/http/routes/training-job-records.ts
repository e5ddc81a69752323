// What a training job leaves behind while it runs: its log, its events, its attempts.
import { wireTime } from '../../domain/timestamps.ts'
import { listAttempts } from '../../services/list-attempts.ts'
import { listJobEvents } from '../../services/list-job-events.ts'
import { readJobLogs } from '../../services/read-job-logs.ts'
import { defineRoute } from '../edge/route.ts'
import { AttemptList, AttemptQuery, EventList, EventQuery, Log, LogQuery } from '../schemas/training-job-records.ts'
import { JobPath } from '../schemas/training-job.ts'

const defaultPageSize = 100
const defaultLogBytes = 64 * 1024

const timeOrNull = (date: Date | null) => date && wireTime(date)

export const trainingJobRecordRoutes = [
  defineRoute({
    name: 'get_training_job_log',
    method: 'get',
    path: '/v1/train/jobs/:job_id/logs',
    summary: 'What the program of an attempt wrote',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: LogQuery,
    response: Log,
    async handle({ caller: ctx, params, query }) {
      const input = { jobId: params.job_id, ...query, limit: query.limit ?? defaultLogBytes }
      const { attempt, text, nextOffset, complete } = await readJobLogs({ ctx, input })
      return { attempt, text, next_offset: nextOffset, complete }
    },
  }),
  defineRoute({
    name: 'list_training_job_events',
    method: 'get',
    path: '/v1/train/jobs/:job_id/events',
    summary: 'What happened to a training job, oldest first',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: EventQuery,
    response: EventList,
    async handle({ caller: ctx, params, query }) {
      const input = { jobId: params.job_id, ...query, limit: query.limit ?? defaultPageSize }
      const { events, next } = await listJobEvents({ ctx, input })
      return { events: events.map((event) => ({ ...event, at: wireTime(event.at) })), next }
    },
  }),
  defineRoute({
    name: 'list_attempts',
    method: 'get',
    path: '/v1/train/jobs/:job_id/attempts',
    summary: 'The attempts of a training job, newest first',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: AttemptQuery,
    response: AttemptList,
    async handle({ caller: ctx, params, query }) {
      const input = { jobId: params.job_id, ...query, limit: query.limit ?? defaultPageSize }
      const { attempts, next } = await listAttempts({ ctx, input })
      return {
        attempts: attempts.map((each) => ({
          attempt: each.number,
          mode: each.mode,
          phase: each.phase,
          cause: each.cause,
          exit_code: each.exitCode,
          message: each.message,
          from_step: each.fromStep,
          last_step: each.lastStep,
          created_at: wireTime(each.createdAt),
          granted_at: timeOrNull(each.grantedAt),
          claimed_at: timeOrNull(each.claimedAt),
          ended_at: timeOrNull(each.endedAt),
        })),
        next,
      }
    },
  }),
]
