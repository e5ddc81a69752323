// The records of a training job: its log, its events, its attempts, its metrics.
import type { AttemptLedger } from '../../domain/attempt-ledger.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { listAttempts, type CountedAttempt } from '../../services/training-jobs/list-attempts.ts'
import { listJobEvents, type NamedEvent } from '../../services/training-jobs/list-events.ts'
import { listMetrics } from '../../services/training-jobs/list-metrics.ts'
import { readTensorBoardFile } from '../../services/training-jobs/tensorboard-file.ts'
import { readSkippedRows } from '../../services/training-jobs/read-skipped-rows.ts'
import { readJobLogs } from '../../services/training-jobs/read-logs.ts'
import { FileBytes, linkToNext } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import {
  AttemptList,
  AttemptQuery,
  EventList,
  EventQuery,
  Log,
  LogQuery,
  SkippedRows,
} from './schemas/training-job-records.ts'
import { MetricList, MetricsQuery, TensorBoardFile } from './schemas/job-metrics.ts'
import { JobPath } from '../lamini/schemas/training-job.ts'
import { metricOnWire } from '../lamini/training-job-summary.ts'

const defaultPageSize = 100
const defaultMetricCount = 1000
const defaultLogBytes = 64 * 1024

const timeOrNull = (date: Date | null) => date && wireTime(date)

export const eventOnWire = ({ at, actorName, ...event }: NamedEvent) => ({
  ...event,
  at: wireTime(at),
  actor_name: actorName,
})

export const trainingJobRecordRoutes = [
  defineRoute({
    name: 'get_training_job_log',
    method: 'get',
    path: '/v1/train/jobs/:job_id/logs',
    summary: 'Read the log of an attempt',
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
    name: 'read_skipped_rows',
    method: 'get',
    path: '/v1/train/jobs/:job_id/skipped-rows',
    summary: 'Read the rows that a training job has left out, as JSON Lines of {line, field, reason}',
    access: 'key',
    scope: 'read',
    params: JobPath,
    errorStatuses: [409],
    response: SkippedRows,
    alsoAnswers: 'application/octet-stream',
    async handle({ caller: ctx, params: { job_id: jobId }, setHeader }) {
      const { bytes, sizeBytes } = await readSkippedRows({ ctx, input: { jobId } })
      setHeader('Content-Disposition', `attachment; filename="job-${jobId}-skipped-rows.jsonl"`)
      return new FileBytes(bytes, sizeBytes)
    },
  }),
  defineRoute({
    name: 'list_training_job_events',
    method: 'get',
    path: '/v1/train/jobs/:job_id/events',
    summary: 'List the events of a training job, oldest first. The Link header leads to the next page',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: EventQuery,
    response: EventList,
    async handle({ caller: ctx, params: { job_id: jobId }, query, setHeader }) {
      const input = { jobId, ...query, limit: query.limit ?? defaultPageSize }
      const { events, next } = await listJobEvents({ ctx, input })
      if (next !== null) setHeader('Link', linkToNext(`/v1/train/jobs/${jobId}/events`, { ...query, after: next }))
      return { events: events.map(eventOnWire), next }
    },
  }),
  defineRoute({
    name: 'list_attempts',
    method: 'get',
    path: '/v1/train/jobs/:job_id/attempts',
    summary:
      'List the attempts of a training job with their cost, newest first. The Link header leads to the next page',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: AttemptQuery,
    response: AttemptList,
    async handle({ caller: ctx, params: { job_id: jobId }, query: { limit, after, before }, setHeader }) {
      const input = { jobId, before: after ?? before, limit: limit ?? defaultPageSize }
      const { attempts, next } = await listAttempts({ ctx, input })
      if (next !== null) setHeader('Link', linkToNext(`/v1/train/jobs/${jobId}/attempts`, { limit, after: next }))
      return { attempts: attempts.map(attemptOf), next }
    },
  }),
  defineRoute({
    name: 'list_training_job_metrics',
    method: 'get',
    path: '/v1/train/jobs/:job_id/metrics',
    summary: 'List the reported steps of a training job with all their series, in order',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: MetricsQuery,
    response: MetricList,
    async handle({ caller: ctx, params: { job_id: jobId }, query: { since_step: sinceStep = 0, limit } }) {
      const input = { jobId, sinceStep, limit: limit ?? defaultMetricCount }
      const { metrics, next } = await listMetrics({ ctx, input })
      return { metrics: metrics.map(metricOnWire), next }
    },
  }),
  defineRoute({
    name: 'read_training_job_tensorboard_file',
    method: 'get',
    path: '/v1/train/jobs/:job_id/tensorboard',
    summary: 'Read the series of a training job as an event file of TensorBoard, also while it trains',
    access: 'key',
    scope: 'read',
    params: JobPath,
    response: TensorBoardFile,
    alsoAnswers: 'application/octet-stream',
    async handle({ caller: ctx, params: { job_id: jobId }, setHeader }) {
      const bytes = await readTensorBoardFile({ ctx, input: { jobId } })
      // TensorBoard reads files whose name holds "tfevents".
      setHeader('Content-Disposition', `attachment; filename="events.out.tfevents.job-${jobId}"`)
      return new FileBytes(bytes, null)
    },
  }),
]

export function attemptOf(attempt: CountedAttempt) {
  const { fromStep, savedStep, gpuCount, ledger } = attempt
  // A checkpoint may hold later steps than the reported ones.
  const lastStep = savedStep === null ? attempt.lastStep : Math.max(attempt.lastStep ?? 0, savedStep)
  return {
    attempt: attempt.number,
    mode: attempt.mode,
    phase: attempt.phase,
    cause: attempt.cause,
    exit_code: attempt.exitCode,
    message: attempt.message,
    from_step: fromStep,
    first_step: lastStep !== null && lastStep > fromStep ? fromStep + 1 : null,
    last_step: lastStep,
    last_checkpoint_step: savedStep,
    created_at: wireTime(attempt.createdAt),
    granted_at: timeOrNull(attempt.grantedAt),
    claimed_at: timeOrNull(attempt.claimedAt),
    ended_at: timeOrNull(attempt.endedAt),
    gpu_count: gpuCount,
    training_seconds: ledger,
    gpu_seconds: multiplied(ledger, gpuCount),
  }
}

const multiplied = ({ allocated, productive, lost }: AttemptLedger, count: number): AttemptLedger => ({
  allocated: allocated * count,
  productive: productive * count,
  lost: lost * count,
})
