// Finds jobs by filters, page by page, and reads the figures that a row of a list shows besides those of job-details.ts.
import type { TrainingJob } from '../domain/training-job.ts'
import type { TrainingJobStatus } from '../domain/training-job-status.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

export type JobBriefFilter = {
  statuses?: readonly TrainingJobStatus[] | undefined
  baseModel?: string | undefined
  datasetId?: string | undefined
  /** The key that submitted the job. */
  keyId?: string | undefined
  from?: Date | undefined
  /** Excluded. */
  to?: Date | undefined
  /** A part of the number, a name, the data set or the base; case does not matter. */
  text?: string | undefined
}

export type JobFigures = Pick<TrainingJob, 'id' | 'customModelName' | 'modelName' | 'resumeCount' | 'resumeLimit'> & {
  keyId: string
  fileName: string | null
  /** Losses spread evenly over the reported steps. Null before the first report. */
  losses: number[] | null
  /** The newest held-out loss of the last reports. */
  validLoss: number | null
}

/** A search reads this many jobs, then hands out a cursor: the work of a request does not grow with the account. */
const scannedJobs = 5000
const lossCount = 24
const reportsWithValidation = 200

export const createJobBriefRepository = (run: RunStatement) => ({
  /** Finds jobs, newest first. A page may hold fewer jobs than the limit, and none, before the last page. */
  async find(
    accountId: string,
    { limit, after, filter }: { limit: number; after: number | null; filter: JobBriefFilter },
  ): Promise<{ ids: number[]; next: number | null }> {
    const { from, to, ...others } = filter
    const scanLimit = Object.values(others).some((value) => value !== undefined) ? scannedJobs : limit
    const { statuses, baseModel, datasetId, keyId, text } = others
    const [found] = await run<{ ids: number[] | null; scanned: number; last: number | null }>(
      after === null ? findFirst : findLater,
      [
        ...[accountId, scanLimit, limit, statuses ?? null, baseModel ?? null, datasetId ?? null, keyId ?? null],
        ...[from ?? null, to ?? null, text?.toLowerCase() ?? null],
        ...(after === null ? [] : [after]),
      ],
    )
    const ids = found?.ids ?? []
    if (ids.length === limit) return { ids, next: ids.at(-1) ?? null }
    return { ids, next: found?.scanned === scanLimit ? found.last : null }
  },

  /** Describes those of the jobs that the account has. */
  figures: (accountId: string, ids: readonly number[]): Promise<JobFigures[]> => run(readFigures, [accountId, ids]),
})

const scan = (cursor: string) => `
    with scanned as materialized (
      select id, created_at, status, base_model, dataset_id, dataset_version_id, api_key_id, custom_model_name, model_name
      from training_jobs where account_id = $1::uuid ${cursor}
        and created_at >= coalesce($8::timestamptz, '-infinity') and created_at < coalesce($9::timestamptz, 'infinity')
      order by created_at desc, id desc limit $2::int),
    found as (
      select id, created_at from scanned
      where ($4::text[] is null or status = any($4)) and ($5::text is null or base_model = $5)
        and ($6::text is null or dataset_id = $6 or id in (
          select id from training_jobs where account_id = $1::uuid and spec->'sources' is not null
            and spec->'sources' @> jsonb_build_array(jsonb_build_object('datasetId', $6::text))))
        and ($7::text is null or api_key_id = $7)
        and ($10::text is null or strpos(lower(concat_ws(' ', id, custom_model_name, model_name, dataset_id, base_model,
          (select file_name from dataset_versions where id = scanned.dataset_version_id))), $10) > 0)
      order by created_at desc, id desc limit $3::int)
    select (select array_agg(id order by created_at desc, id desc) from found) as ids,
      (select count(*)::int from scanned) as scanned,
      (select id from scanned order by created_at, id limit 1) as last`

const findFirst: Statement = { name: 'find-job-briefs', text: scan('') }
const findLater: Statement = {
  name: 'find-job-briefs-after',
  text: scan(`and (created_at, id)
        < (select created_at, id from training_jobs where id = $11::int and account_id = $1::uuid)`),
}

/** Each place of the curve is one look into the key of the steps, whatever their number. */
const readFigures: Statement = {
  name: 'read-job-figures',
  text: `
    select j.id, j.custom_model_name as "customModelName", j.model_name as "modelName", j.resume_count as "resumeCount",
      j.resume_limit as "resumeLimit",
      j.api_key_id as "keyId", v.file_name as "fileName",
      (select array_agg(point.loss order by point.step) from (
        select distinct on (s.step) s.step, s.loss
        from (select min(step) as first, max(step) as last from training_steps where job_id = j.id) reported
          cross join generate_series(0, ${lossCount - 1}) place
          cross join lateral (
            select step, loss from training_steps
            where job_id = j.id
              and step >= reported.first + ((reported.last - reported.first)::bigint * place / ${lossCount - 1})::int
            order by step limit 1) s
        order by s.step) point) as losses,
      (select valid_loss from (
          select step, valid_loss from training_steps where job_id = j.id order by step desc limit ${reportsWithValidation}) newest
        where valid_loss is not null order by step desc limit 1) as "validLoss"
    from training_jobs j join dataset_versions v on v.id = j.dataset_version_id
    where j.id = any($2::int[]) and j.account_id = $1::uuid`,
}
