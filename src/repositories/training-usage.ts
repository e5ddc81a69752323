import type { AttemptLedger } from '../domain/attempt-ledger.ts'
import type { UsageDimension } from '../domain/usage.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

/** The attempts that ended by one cause; null for those that run. `group` is a day, a key or a model; null for all. */
export type CauseUsage = {
  group: string | null
  cause: string | null
  attempts: number
  training: AttemptLedger
  gpu: AttemptLedger
}

type Row = Pick<CauseUsage, 'group' | 'cause' | 'attempts'> &
  AttemptLedger & { gpuAllocated: number; gpuProductive: number; gpuLost: number }

export const createTrainingUsageRepository = (run: RunStatement) => ({
  /**
   * Adds up the attempts of the newest `limit` jobs that were accepted from `from` on and before `to`, in UTC.
   * @param options.by splits them by the day of acceptance, the key or the base model of their job
   */
  async byCause(
    accountId: string,
    { from, to, by, limit }: { from: string; to: string; by: UsageDimension | null; limit: number },
  ): Promise<CauseUsage[]> {
    const rows = await run<Row>(addUpByCause, [accountId, from, to, limit, by])
    return rows.map(({ group, cause, attempts, gpuAllocated, gpuProductive, gpuLost, ...training }) => ({
      ...{ group, cause, attempts, training },
      gpu: { allocated: gpuAllocated, productive: gpuProductive, lost: gpuLost },
    }))
  },
})

/** `ledgerOf` of src/domain/attempt-ledger.ts in SQL; a test compares the two. */
const addUpByCause: Statement = {
  name: 'add-up-attempts-by-cause',
  text: `
    with jobs as materialized (
        select id, coalesce((spec->>'nodes')::int, 1)
            * coalesce((spec->>'gpus')::int, (spec->'baseModel'->'resources'->>'gpuCount')::int, 0) as gpus,
          case $5::text when 'day' then to_char(created_at at time zone 'utc', 'YYYY-MM-DD')
            when 'key' then api_key_id when 'model' then base_model end as part
        from training_jobs
        where account_id = $1::uuid and imported_from is null and created_at >= $2::timestamp at time zone 'utc' and created_at < $3::timestamp at time zone 'utc'
        order by created_at desc, id desc limit $4::int),
      ran as (
        select j.part, a.cause, j.gpus, a.claimed_at, a.working_at, a.saved_at, a.ended_at,
          greatest(a.claimed_at, coalesce(a.ended_at, now())) as until,
          min(case when a.from_artifact_id is null then 'epoch' else a.from_at end)
            filter (where a.mode = 'train' and a.claimed_at is not null)
            over (partition by a.job_id order by a.number desc rows between unbounded preceding and 1 preceding) as repeated_from
        from jobs j join attempts a on a.job_id = j.id),
      kept as (
        select part, cause, gpus, extract(epoch from until - claimed_at)::float8 as allocated,
          greatest(0, extract(epoch from
            least(until, repeated_from, case when ended_at is null or cause = 'finished' then until else coalesce(saved_at, claimed_at) end)
            - least(until, greatest(claimed_at, coalesce(working_at, until)))))::float8 as productive
        from ran where claimed_at is not null)
    select part as "group", cause, count(*)::int as attempts, sum(allocated) as allocated, sum(productive) as productive,
      sum(allocated - productive) as lost, sum(allocated * gpus) as "gpuAllocated", sum(productive * gpus) as "gpuProductive",
      sum((allocated - productive) * gpus) as "gpuLost"
    from kept group by part, cause order by part, sum(allocated - productive) desc, cause`,
}
