// Lists the events and the steps of a job together, newest first.
import type { JobEvent } from '../domain/training-job.ts'
import { metricOf, type MetricRow } from './job-details.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

export type TimelineEntry = { kind: 'event'; event: JobEvent } | { kind: 'step'; at: Date; step: MetricRow }

/** `id` is the number of a step or the id of an event. */
export type TimelinePlace = { kind: TimelineEntry['kind']; id: string }

type Row = { at: Date; event: Omit<JobEvent, 'at'> | null; step: MetricRow | null }

export const createJobTimelineRepository = (run: RunStatement) => ({
  /** Lists the entries that are older than `after`, newest first. The entry at `after` may be gone. */
  async list(
    jobId: number,
    { after, limit }: { after: TimelinePlace | null; limit: number },
  ): Promise<TimelineEntry[]> {
    const rows = await run<Row>(listTimeline, [jobId, after?.kind ?? null, after?.id ?? '0', limit])
    return rows.flatMap(entryOf)
  },
})

function entryOf({ at, event, step }: Row): TimelineEntry[] {
  if (event) return [{ kind: 'event', event: { ...event, at } }]
  return step ? [{ kind: 'step', at, step }] : []
}

/** An event counts as later than a step of the same time. */
const listTimeline: Statement = {
  name: 'list-timeline',
  text: `
    with place as materialized (
      select case $2::text
        when 'event' then (select at from job_events where job_id = $1::int and id <= $3::bigint order by id desc limit 1)
        when 'step' then (select at from training_steps where job_id = $1::int and step <= $3::bigint order by step desc limit 1)
        else timestamptz 'infinity' end as at)
    (select at, 1 as rank, id as number, jsonb_build_object('id', id::text, 'kind', kind, 'status', status,
        'attempt', attempt, 'reason', reason, 'message', message, 'actor', actor) as event, null::jsonb as step
      from job_events
      where job_id = $1::int
        and (at, id) < ((select at from place), case when $2::text = 'event' then $3::bigint else 0 end)
      order by at desc, id desc limit $4::int)
    union all
    (select at, 0, step, null, ${metricOf('s')} from training_steps s
      where job_id = $1::int
        and (at, step) < ((select at from place), case when $2::text = 'step' then $3::bigint else 2147483648 end)
      order by at desc, step desc limit $4::int)
    order by at desc, rank desc, number desc limit $4::int`,
}
