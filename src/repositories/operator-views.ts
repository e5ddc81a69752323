// What operators read of the jobs and the usage of all accounts.
import type { NameParts } from '../domain/display-name.ts'
import { durableWork, type WorkKind } from '../domain/durable-work.ts'
import type { TrainingJobStatus } from '../domain/training-job-status.ts'
import type { TrainingJob } from '../domain/training-job.ts'
import type { PricedParts, UsageAmount } from '../domain/usage.ts'
import { nameColumns } from './name-columns.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'
import { waitingLine } from './waiting-line.ts'

/** `attempt`: the newest. `grantedAt`: since when that attempt holds a slot; null when it holds none. */
export type OperatorJob = NameParts &
  Pick<
    TrainingJob,
    'accountId' | 'baseModel' | 'status' | 'statusReason' | 'statusMessage' | 'createdAt' | 'finishedAt'
  > & { accountName: string; attempt: number | null; phase: string | null; grantedAt: Date | null }

/** `summary`: what the work is, in a few words. */
export type FailedWork = {
  kind: WorkKind
  id: string
  summary: string
  accountId: string
  accountName: string
  message: string | null
  finishedAt: Date
}

type JobPage = { accountId: string | null; status: TrainingJobStatus | null; after: number | null; limit: number }

/** A dimension is '' when it is not grouped by. */
export type AccountUsageGroup = { day: string; accountId: string; model: string }
/** `parts` is null unless the model is a tuned one that exists. `accountName` is '' without its dimension. */
export type AccountUsage = AccountUsageGroup &
  UsageAmount &
  PricedParts & { accountName: string; parts: NameParts | null }

type UsagePage = {
  /** The first day, and the day after the last. */
  from: string
  to: string
  by: readonly ('account' | 'day' | 'model')[]
  embeddingModels: readonly string[]
  accountId: string | null
  after: AccountUsageGroup | null
  limit: number
}

export const createOperatorViewRepository = (run: RunStatement) => ({
  /** Lists jobs, newest first. `after` is the id of the last job of the page before. */
  listJobs: ({ accountId, status, after, limit }: JobPage): Promise<OperatorJob[]> =>
    run(listJobs({ isOfAccount: accountId !== null, hasStatus: status !== null, isAfter: after !== null }), [
      limit,
      ...(accountId === null ? [] : [accountId]),
      ...(status === null ? [] : [status]),
      ...(after === null ? [] : [after]),
    ]),

  async findJob(jobId: number): Promise<OperatorJob | null> {
    const [job] = await run<OperatorJob>(findJob, [jobId])
    return job ?? null
  },

  /** Lists the jobs that hold a slot, those that have it for the longest time first. */
  listHolders: (limit: number): Promise<OperatorJob[]> => run(listHolders, [limit]),

  /** Lists the jobs that get the next free slots, in this order. */
  listNext: (limit: number): Promise<OperatorJob[]> => run(listNext, [limit]),

  /** Lists the jobs that have failed since then, the newest failure first. */
  listFailures: (since: Date, limit: number): Promise<OperatorJob[]> => run(listFailures, [since, limit]),

  /** Lists the work of a kind that has failed since then, the newest failure first. */
  listFailedWork: (kind: WorkKind, since: Date, limit: number): Promise<FailedWork[]> =>
    run(failedWork(kind), [since, limit]),

  /** Ordered by day, account and model. */
  async usage({ from, to, by, embeddingModels, accountId, after, limit }: UsagePage): Promise<AccountUsage[]> {
    const { day = '', accountId: account = '', model = '' } = after ?? {}
    const place = [after === null, day, account, model, limit]
    const values = [from, to, [...by], accountId, ...place, [...embeddingModels]]
    const rows = await run<Omit<AccountUsage, 'parts'> & NullableParts>(addUp, values)
    return rows.map(({ jobId, customModelName, datasetId, datasetRun, fileName, modelVersion, ...line }) => {
      const isTuned = jobId !== null && datasetId !== null
      const parts = isTuned ? { jobId, customModelName, datasetId, datasetRun, fileName, modelVersion } : null
      return { ...line, parts }
    })
  },
})

type NullableParts = { [Key in keyof NameParts]: NameParts[Key] | null }

const columns = `${nameColumns()}, j.account_id as "accountId", account.name as "accountName", j.base_model as "baseModel",
  j.status, j.status_reason as "statusReason", j.status_message as "statusMessage", j.created_at as "createdAt",
  j.finished_at as "finishedAt", a.number as attempt, a.phase,
  case when a.released_at is null then a.granted_at end as "grantedAt"`

const withAccount = `join accounts account on account.id = j.account_id`
const withAttempt = `${withAccount} left join attempts a on a.job_id = j.id and a.number = j.current_attempt`

/** The list of one account walks the account's index; a list of all walks that of the status, or the primary key. */
function listJobs(filters: { isOfAccount: boolean; hasStatus: boolean; isAfter: boolean }): Statement {
  const { isOfAccount, hasStatus, isAfter } = filters
  let parameter = 1
  const ofAccount = isOfAccount ? `and account_id = $${++parameter}::uuid` : ''
  const ofStatus = hasStatus ? `and status = $${++parameter}::text` : ''
  const key = isOfAccount ? '(created_at, id)' : '(id)'
  const place = `(select ${isOfAccount ? 'created_at, id' : 'id'} from training_jobs where id = $${++parameter}::int)`
  const after = isAfter ? `and ${key} < ${place}` : ''
  const order = (table: string) => (isOfAccount ? `${table}created_at desc, ${table}id desc` : `${table}id desc`)
  const name = `operator-jobs${isOfAccount ? '-of-account' : ''}${hasStatus ? '-of-status' : ''}${isAfter ? '-after' : ''}`
  return {
    name,
    text: `
    select ${columns} from (
      select * from training_jobs where true ${ofAccount} ${ofStatus} ${after} order by ${order('')} limit $1::int) j
    ${withAttempt} order by ${order('j.')}`,
  }
}

const findJob: Statement = {
  name: 'operator-job',
  text: `select ${columns} from training_jobs j ${withAttempt} where j.id = $1::int`,
}

const listHolders: Statement = {
  name: 'operator-holders',
  text: `
    select ${columns} from attempts a join training_jobs j on j.id = a.job_id ${withAccount}
    where a.released_at is null and a.granted_at is not null order by a.granted_at, a.id limit $1::int`,
}

const listNext: Statement = {
  name: 'operator-next',
  text: `
    with ${waitingLine}
    select ${columns} from line join attempts a using (id) join training_jobs j on j.id = a.job_id ${withAccount}
    where line.ahead < $1::int order by line.ahead`,
}

const listFailures: Statement = {
  name: 'operator-failures',
  text: `
    select ${columns} from (
      select * from training_jobs where status = 'FAILED' and finished_at >= $1::timestamptz and imported_from is null
      order by finished_at desc limit $2::int) j
    ${withAttempt} order by j.finished_at desc, j.id desc`,
}

/** Walks the index on the ends. */
function failedWork(kind: WorkKind): Statement {
  const { table, summary, hasFailed } = durableWork[kind]
  return {
    name: `operator-failed-${kind}`,
    text: `
    select '${kind}' as kind, id, ${summary} as summary, account_id as "accountId",
      (select name from accounts where id = account_id) as "accountName", message, finished_at as "finishedAt"
    from ${table} where finished_at >= $1::timestamptz and ${hasFailed}
    order by finished_at desc limit $2::int`,
  }
}

const addUp: Statement = {
  name: 'operator-usage',
  text: `
    with lines as (
        select case when 'day' = any($3::text[]) then to_char(day, 'YYYY-MM-DD') else '' end as day,
          case when 'account' = any($3::text[]) then account_id::text else '' end as "accountId",
          case when 'model' = any($3::text[]) then model else '' end as model,
          sum(prompts)::float8 as prompts, sum(prompt_tokens)::float8 as "promptTokens",
          sum(completion_tokens)::float8 as "completionTokens", sum(engine_seconds) as "engineSeconds",
          sum(training_seconds) as "trainingSeconds", sum(gpu_seconds) as "gpuSeconds",
          sum(training_gpu_seconds) as "trainingGpuSeconds",
          coalesce(sum(prompt_tokens) filter (where model = any($10::text[])), 0)::float8 as "embeddedTokens"
        from usage_days
        where day >= $1::date and day < $2::date and ($4::uuid is null or account_id = $4::uuid) group by 1, 2, 3),
      page as (
        select * from lines where $5::boolean or (day, "accountId", model) > ($6::text, $7::text, $8::text)
        order by day, "accountId", model limit $9::int)
    select page.*, coalesce(account.name, '') as "accountName", named.*
    from page left join accounts account on account.id = nullif(page."accountId", '')::uuid
      left join models m on m.name = page.model
      left join lateral (select ${nameColumns('m.name')} from training_jobs j where j.id = m.job_id) named on true
    order by page.day, page."accountId", page.model`,
}
