// Reads the parts of an answer about a job that are not in its row: first start, newest attempt, newest step, data set, place.
import type { DataSource, PreparedSource } from '../domain/data-sources.ts'
import type { NameParts } from '../domain/display-name.ts'
import type { MethodName } from '../domain/method-table.ts'
import type { Person } from '../domain/person.ts'
import type { TrainingArgs } from '../domain/training-args.ts'
import { stepOfAnswers } from '../domain/planned-sampling.ts'
import type { PastJob } from '../domain/training-estimate.ts'
import type { RowCounts } from '../domain/row-tokens.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { TrackerRequest } from '../domain/tracker.ts'
import type { Attempt, TrainingJob, TrainingSpec } from '../domain/training-job.ts'
import type { Hyperparameters, TrainingMethod } from '../domain/training-method.ts'
import { nameColumns } from './name-columns.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'
import { waitingLine } from './waiting-line.ts'

/** A stored step with every series that its row has; releases add columns. */
export type MetricRow = { step: number; loss: number } & Record<string, number | null>

export type JobDetails = Pick<
  TrainingJob,
  'id' | 'baseModel' | 'status' | 'statusReason' | 'statusMessage' | 'createdAt' | 'finishedAt' | 'datasetId'
> &
  NameParts &
  Pick<TrainingSpec, 'gpus' | 'nodes'> & {
    args: TrainingArgs
    /** Names of the arguments that the request gave. */
    givenArgs: string[]
    method: TrainingMethod | null
    metadata: Record<string, string> | null
    trackers: TrackerRequest[] | null
    /** GPUs of each node when the request names none. */
    modelGpus: number
    attemptCount: number
    /** From the claim of each attempt to its release, or until now. */
    trainingSeconds: number
    startedAt: Date | null
    /** Null before the data is checked. */
    trainRows: number | null
    checkedRows: number | null
    /** Several data sets; null for one. */
    sources: DataSource[] | null
    /** Null before the data is checked, and for one data set. */
    preparedSources: PreparedSource[] | null
    skipsBadRows: boolean
    /** Null before the data is checked. */
    skippedRows: number | null
    /** Training rows that were longer than max_length. Null before the trainer has counted them. */
    truncatedRows: number | null
    /** Null before the trainer has counted them. */
    rowCounts: RowCounts | null
    estimatedTokens: number | null
    newestAttempt: NewestAttempt | null
    lastStep: MetricRow | null
    sender: Sender
  }

/** The key with which the job was submitted; that of a person stands for the person. Without a name once the key is removed. */
type Sender = { keyId: string; name: string | null; person: Person | null }

export type JobLabels = NameParts & Pick<TrainingJob, 'accountId' | 'baseModel'> & { accountName: string }

type NewestAttempt = Pick<Attempt, 'number' | 'mode' | 'phase' | 'cause' | 'createdAt' | 'claimedAt' | 'endedAt'>

type NewestColumns = {
  [Key in keyof NewestAttempt as `newest${Capitalize<Key>}`]: NewestAttempt[Key] | null
}

export const createJobDetailsRepository = (run: RunStatement) => ({
  /** Describes those of the jobs that the account has. */
  async describe(accountId: string, jobIds: readonly number[]): Promise<JobDetails[]> {
    const rows = await run<Omit<JobDetails, 'newestAttempt'> & NewestColumns>(describeJobs, [accountId, jobIds])
    return rows.map(detailsOf)
  },

  /** For activities and loops: the names of a job of any account. @throws ServiceError not_found */
  async labels(jobId: number): Promise<JobLabels> {
    const [labels] = await run<JobLabels>(readLabels, [jobId])
    if (!labels) throw new ServiceError('not_found', `There is no job ${jobId}.`)
    return labels
  },

  /** Lists the steps after `sinceStep`, in order. */
  async metrics(jobId: number, { sinceStep, limit }: { sinceStep: number; limit: number }): Promise<MetricRow[]> {
    const rows = await run<{ row: MetricRow }>(listMetrics, [jobId, sinceStep, limit])
    return rows.map(({ row }) => row)
  },

  /** Lists the newest complete jobs of the method with one attempt, on the base model and as many GPUs, of all accounts; newest first. */
  async pastJobs(
    baseModel: string,
    { gpuCount, method, limit }: { gpuCount: number; method: MethodName; limit: number },
  ): Promise<PastJob[]> {
    const rows = await run<PastRow>(listPastJobs, [baseModel, gpuCount, limit, method])
    return rows.map(pastJobOf)
  },

  /** Lists the jobs that wait for a slot, in the order in which they get one. */
  async waiting(limit: number): Promise<number[]> {
    const rows = await run<{ jobId: number }>(listWaiting, [limit])
    return rows.map(({ jobId }) => jobId)
  },
})

type PastRow = PastJob & { hyperparameters: Hyperparameters | null; answerTokens: number | null }

/** Only reinforcement samples answers. */
const pastJobOf = ({ hyperparameters, ...job }: PastRow): PastJob =>
  hyperparameters && job.answerTokens !== null
    ? stepOfAnswers(job, { hyperparameters, answerTokens: job.answerTokens })
    : job

function detailsOf({
  newestNumber,
  newestMode,
  newestPhase,
  newestCause,
  newestCreatedAt,
  newestClaimedAt,
  newestEndedAt,
  ...columns
}: Omit<JobDetails, 'newestAttempt'> & NewestColumns): JobDetails {
  const job = { ...columns, ...(columns.sources && countsOf(columns)) }
  if (newestNumber === null || newestMode === null || newestCreatedAt === null) return { ...job, newestAttempt: null }
  const newestAttempt = {
    number: newestNumber,
    mode: newestMode,
    phase: newestPhase,
    cause: newestCause,
    createdAt: newestCreatedAt,
    claimedAt: newestClaimedAt,
    endedAt: newestEndedAt,
  }
  return { ...job, newestAttempt }
}

/** The report on the first of several data sets does not count the rows of the others. */
function countsOf({ preparedSources }: Pick<JobDetails, 'preparedSources'>) {
  const sum = (of: (set: PreparedSource) => number | null) =>
    preparedSources?.reduce<number | null>((total, set) => {
      const count = of(set)
      return total === null || count === null ? null : total + count
    }, 0) ?? null
  return { checkedRows: sum(({ rowCount }) => rowCount), estimatedTokens: sum(({ tokens }) => tokens) }
}

/** A stored step as JSON: the columns that are series, and the series of the method beside them. */
export const metricOf = (table: string) =>
  `(to_jsonb(${table}) - '{job_id,attempt,at,sequence,series}'::text[]) || coalesce(${table}.series, '{}')`

const describeJobs: Statement = {
  name: 'describe-jobs',
  text: `
    select j.id, j.base_model as "baseModel", j.status, j.status_reason as "statusReason", j.status_message as "statusMessage",
      j.created_at as "createdAt", j.finished_at as "finishedAt", ${nameColumns()},
      j.spec->'args' as args, j.spec->'givenArgs' as "givenArgs", (j.spec->'method') - 'task' as method,
      j.spec->'metadata' as metadata, j.spec->'sources' as sources, j.prepared_data->'sources' as "preparedSources",
      j.spec->'trackers' as trackers,
      (j.spec->>'gpus')::int as gpus, coalesce((j.spec->>'nodes')::int, 1) as nodes,
      coalesce((j.spec->'baseModel'->'resources'->>'gpuCount')::int, 0) as "modelGpus",
      j.current_attempt as "attemptCount", (j.prepared_data->'train'->>'rowCount')::int as "trainRows",
      (v.report->>'rowCount')::int as "checkedRows", coalesce((j.spec->>'skipBadRows')::boolean, false) as "skipsBadRows",
      case when j.prepared_data is not null then coalesce((j.prepared_data->'skipped'->>'rowCount')::int, 0) end
        as "skippedRows",
      case when v.report->'tokenLength'->>'tokenizer' = j.base_model
        then (v.report->'tokenLength'->>'estimatedTotal')::float8 end as "estimatedTokens",
      (select truncated_rows from attempts where job_id = j.id and truncated_rows is not null order by number desc limit 1)
        as "truncatedRows",
      (select row_counts from attempts where job_id = j.id and row_counts is not null order by number desc limit 1)
        as "rowCounts",
      (select claimed_at from attempts where job_id = j.id and claimed_at is not null order by number limit 1) as "startedAt",
      (select coalesce(sum(extract(epoch from coalesce(ended_at, now()) - claimed_at)), 0)::float8 from attempts
        where job_id = j.id and claimed_at is not null) as "trainingSeconds",
      json_build_object('keyId', j.api_key_id, 'name', k.name, 'person', case when k.person_subject is not null
        then json_build_object('subject', k.person_subject, 'mail', k.person_mail) end) as sender,
      a.number as "newestNumber", a.mode as "newestMode", a.phase as "newestPhase", a.cause as "newestCause",
      a.created_at as "newestCreatedAt", a.claimed_at as "newestClaimedAt", a.ended_at as "newestEndedAt",
      (select ${metricOf('s')} from training_steps s where s.job_id = j.id order by s.step desc limit 1) as "lastStep"
    from training_jobs j join dataset_versions v on v.id = j.dataset_version_id
      left join api_keys k on k.id = j.api_key_id
      left join attempts a on a.job_id = j.id and a.number = j.current_attempt
    where j.id = any($2::int[]) and j.account_id = $1::uuid`,
}

const readLabels: Statement = {
  name: 'read-job-labels',
  text: `
    select ${nameColumns()}, j.account_id as "accountId", account.name as "accountName", j.base_model as "baseModel"
    from training_jobs j join accounts account on account.id = j.account_id where j.id = $1::int`,
}

const listMetrics: Statement = {
  name: 'list-metrics',
  text: `
    select ${metricOf('s')} as row from training_steps s
    where job_id = $1::int and step > $2::int order by step limit $3::int`,
}

/**
 * Looks at the newest hundred. The time of a step is that between the first and the newest report, which holds checkpoints and
 * validations. Reports that were sent together are no measure, so the trainer's own time for the newest steps is the least.
 */
const listPastJobs: Statement = {
  name: 'list-past-jobs',
  text: `
    select extract(epoch from j.finished_at - a.claimed_at)::float8 as seconds, last.step as steps,
      greatest(last.iter_time, extract(epoch from last.at - first.at)::float8 / nullif(last.step - first.step, 0))
        as "secondsPerStep",
      (j.args->>'batch_size')::int * (j.args->>'gradient_accumulation_steps')::int as "rowsPerStep",
      case when row.tokens > row.max_tokens then row.max_tokens else row.tokens end as "tokensPerRow",
      last.answer_tokens as "answerTokens", j.hyperparameters
    from (
        select id, dataset_version_id, finished_at, current_attempt, spec->'args' as args,
          spec->'method'->'hyperparameters' as hyperparameters,
          coalesce((spec->>'nodes')::int, 1)
            * coalesce((spec->>'gpus')::int, (spec->'baseModel'->'resources'->>'gpuCount')::int, 0) as gpu_count
        from training_jobs where status = 'COMPLETED' and base_model = $1::text and finished_at is not null
          and imported_from is null
          and coalesce(spec->'method'->>'type', 'supervised') = $4::text
        order by finished_at desc limit 100) j
      join dataset_versions v on v.id = j.dataset_version_id
      join attempts a on a.job_id = j.id and a.number = 1 and a.claimed_at is not null
      cross join lateral (
        select (v.report->'tokenLength'->>'estimatedTotal')::float8
            / nullif((v.report->>'rowCount')::float8 - (v.report->>'badRowCount')::float8, 0) as tokens,
          (j.args->>'max_length')::float8 as max_tokens) row
      cross join lateral (select step, at from training_steps where job_id = j.id order by step limit 1) first
      cross join lateral (
        select max(step) as step, max(at) as at, avg(iter_time) as iter_time,
          avg((series->>'completions/mean_length')::float8) as answer_tokens
        from (select step, at, iter_time, series from training_steps where job_id = j.id order by step desc limit 20) newest) last
    where j.gpu_count = $2::int and j.current_attempt = 1 and j.args is not null
    order by j.finished_at desc limit $3::int`,
}

const listWaiting: Statement = {
  name: 'list-waiting',
  text: `with ${waitingLine} select a.job_id as "jobId" from line join attempts a using (id) order by line.ahead limit $1::int`,
}
