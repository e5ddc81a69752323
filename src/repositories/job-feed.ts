// Reads the news of a job after a follower's cursor, in one statement, so that all parts are of one instant.
import type { JobCursor } from '../domain/job-cursor.ts'
import type { TrainingArgs } from '../domain/training-args.ts'
import type { TrainingMethod } from '../domain/training-method.ts'
import type { TrainingJobStatus } from '../domain/training-job-status.ts'
import type { JobEvent } from '../domain/training-job.ts'
import { metricOf, type MetricRow } from './job-details.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

type FeedEvent = Omit<JobEvent, 'id' | 'at'> & { id: number; at: string }
type FeedStep = { sequence: number; attempt: number; at: string; row: MetricRow }

export type JobNews = {
  status: TrainingJobStatus
  statusReason: string | null
  statusMessage: string | null
  modelName: string | null
  stateSequence: number
  currentAttempt: number
  args: TrainingArgs
  method: Omit<TrainingMethod, 'task'> | null
  trainRows: number | null
  /** The events in their order, at most `limit`; times as Postgres writes them in JSON. */
  events: FeedEvent[]
  steps: FeedStep[]
  /** The newest report of a step. */
  newestStep: Pick<FeedStep, 'sequence' | 'row'> | null
  /** The log of the attempt that the cursor names. */
  log: { bytes: number | null; isReleased: boolean } | null
}

export const createJobFeedRepository = (run: RunStatement) => ({
  /** The cursor of a follower that has had everything. @returns null when there is no such job */
  async newest(jobId: number): Promise<JobCursor | null> {
    const [cursor] = await run<JobCursor>(readNewest, [jobId])
    return cursor ?? null
  },

  /** @returns null when there is no such job */
  async since(jobId: number, { event, sequence, step, attempt }: JobCursor, limit: number): Promise<JobNews | null> {
    const [news] = await run<JobNews>(readNews, [jobId, event, sequence, step, attempt, limit])
    return news ?? null
  },

  /** The cursor of a follower that has had everything but the newest state and progress. */
  async now(jobId: number): Promise<JobCursor | null> {
    const newest = await this.newest(jobId)
    return newest && { ...newest, progress: Math.max(newest.progress - 1, 0), state: Math.max(newest.state - 1, 0) }
  },
})

const readNews: Statement = {
  name: 'job-news',
  text: `
    select j.status, j.status_reason as "statusReason", j.status_message as "statusMessage", j.model_name as "modelName",
      j.state_sequence::float8 as "stateSequence", j.current_attempt as "currentAttempt", j.spec->'args' as args,
      (j.spec->'method') - 'task' as method,
      (j.prepared_data->'train'->>'rowCount')::int as "trainRows",
      (select coalesce(jsonb_agg(to_jsonb(e) - 'job_id' order by e.id), '[]') from (
        select * from job_events where job_id = j.id and id > $2::bigint order by id limit $6::int) e) as events,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'sequence', s.sequence, 'attempt', s.attempt, 'at', s.at, 'row', ${metricOf('s')}) order by s.sequence, s.step), '[]')
        from (select * from training_steps where job_id = j.id and (sequence, step) > ($3::bigint, $4::int)
          order by sequence, step limit $6::int) s) as steps,
      (select jsonb_build_object('sequence', s.sequence, 'row', ${metricOf('s')}) from training_steps s
        where s.job_id = j.id order by s.sequence desc, s.step desc limit 1) as "newestStep",
      (select jsonb_build_object('bytes', log_bytes, 'isReleased', released_at is not null) from attempts
        where job_id = j.id and number = $5::int) as log
    from training_jobs j where j.id = $1::int`,
}

const readNewest: Statement = {
  name: 'job-newest',
  text: `
    select coalesce((select max(id) from job_events where job_id = j.id), 0)::float8 as event,
      coalesce(s.sequence, 0)::float8 as sequence, coalesce(s.step, 0) as step,
      coalesce(s.sequence, 0)::float8 as progress, j.state_sequence::float8 as state,
      greatest(j.current_attempt, 1) as attempt, coalesce(a.log_bytes, 0)::float8 as "offset"
    from training_jobs j
      left join attempts a on a.job_id = j.id and a.number = j.current_attempt
      left join lateral (
        select sequence, step from training_steps where job_id = j.id order by sequence desc, step desc limit 1) s on true
    where j.id = $1::int`,
}
