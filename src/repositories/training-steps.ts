import type { TrainingStep } from '../domain/training-step.ts'
import type { Connection } from './connection.ts'
import { metricOf, type MetricRow } from './job-details.ts'
import { keysetPages } from './keyset-pages.ts'
import type { RunStatement, Statement } from './prepared-sql.ts'

export type SeenSteps = { attempt: number; step: number }
/** Steps up to `keptStep` that a reader has seen are still valid; `steps` come after them. */
export type NewSteps = { attempt: number; keptStep: number; steps: TrainingStep[] }

/** As a row holds it: null where a step was not validated or measured. */
type StepRow = { [K in keyof TrainingStep]-?: Exclude<TrainingStep[K], undefined> | null } & { step: number }
type Changed = { attempt: number; keptStep: number } & (StepRow | { step: null })

export const createTrainingStepRepository = (db: Connection, run: RunStatement) => ({
  /** A repeated step replaces the old one: a lost reply or a killed attempt leaves no duplicate. */
  async upsertMany(jobId: number, attempt: number, steps: readonly TrainingStep[]) {
    const column = <K extends keyof TrainingStep>(name: K) => steps.map((each) => each[name] ?? null)
    await db.$executeRaw`
      insert into training_steps (job_id, attempt, step, loss, learning_rate, epoch, iter_time, flops, remaining_time,
        tokens, grad_norm, tokens_per_second, valid_loss, valid_token_accuracy, valid_rows, token_accuracy, series)
      select ${jobId}::int, ${attempt}::int, * from unnest(
        ${column('step')}::int[], ${column('loss')}::float8[], ${column('learning_rate')}::float8[], ${column('epoch')}::float8[],
        ${column('iter_time')}::float8[], ${column('flops')}::float8[], ${column('remaining_time')}::float8[],
        ${column('tokens')}::int8[], ${column('grad_norm')}::float8[], ${column('tokens_per_second')}::float8[],
        ${column('valid_loss')}::float8[], ${column('valid_token_accuracy')}::float8[], ${column('valid_rows')}::int[],
        ${column('token_accuracy')}::float8[], ${column('series').map((series) => series && JSON.stringify(series))}::text[]::jsonb[])
      on conflict (job_id, step) do update set
        attempt = excluded.attempt, loss = excluded.loss, learning_rate = excluded.learning_rate, epoch = excluded.epoch,
        iter_time = excluded.iter_time, flops = excluded.flops, remaining_time = excluded.remaining_time,
        tokens = excluded.tokens, grad_norm = excluded.grad_norm, tokens_per_second = excluded.tokens_per_second,
        valid_loss = excluded.valid_loss, valid_token_accuracy = excluded.valid_token_accuracy,
        valid_rows = excluded.valid_rows, token_accuracy = excluded.token_accuracy, series = excluded.series, at = now()`
  },

  /** Deletes the steps after the checkpoint from which an attempt starts. */
  async deleteAfter(jobId: number, step: number) {
    await db.trainingStep.deleteMany({ where: { jobId, step: { gt: step } } })
  },

  /**
   * Reads what has changed since a reader saw the steps up to `step` while `attempt` was the newest that had claimed: an attempt
   * that starts from a checkpoint drops the steps behind it.
   */
  async since(jobId: number, { attempt, step }: SeenSteps): Promise<NewSteps> {
    const rows = await run<Changed>(changedSteps, [jobId, attempt, step])
    const [first] = rows
    return {
      attempt: first?.attempt ?? 0,
      keptStep: first?.keptStep ?? 0,
      // The only row has no step when there are no new ones.
      steps: rows.flatMap(({ attempt: _attempt, keptStep: _keptStep, ...row }) =>
        row.step === null ? [] : [plain(row)],
      ),
    }
  },

  /** Finds the reports of these steps. */
  async find(jobId: number, steps: readonly number[]): Promise<TrainingStep[]> {
    return (await run<StepRow>(findSteps, [jobId, steps])).map(plain)
  },

  /** Lists the steps after `after` with the times of their reports, in order. */
  page: (jobId: number, { after, limit }: { after: number; limit: number }): Promise<{ at: Date; row: MetricRow }[]> =>
    run(listPage, [jobId, after, limit]),

  /** Yields all steps as lines of CSV in OpenAI's columns and one for each of `series`, in order. */
  csvPages: (jobId: number, series: readonly string[]): AsyncGenerator<CsvLine[]> =>
    keysetPages({ step: -1 }, csvPageSize, ({ step }) =>
      run<CsvLine>(listCsvLines, [jobId, series, step, csvPageSize]),
    ),

  /** Bytes of all lines of CSV, without a header. */
  async csvSize(jobId: number, series: readonly string[]): Promise<number> {
    const [row] = await run<{ sizeBytes: number }>(measureCsvLines, [jobId, series])
    return row?.sizeBytes ?? 0
  },
})

const csvPageSize = 1000

/** The line ends with a line break. */
export type CsvLine = { step: number; line: string }

/** The column of a series that a step lacks is empty. */
const csvLine = `concat_ws(',', step, loss, coalesce(token_accuracy::text, ''), coalesce(valid_loss::text, ''), coalesce(valid_token_accuracy::text, ''),
    (select string_agg(coalesce(series->>name, ''), ',' order by place) from unnest($2::text[]) with ordinality as wanted (name, place))) || E'\\n'`

const listCsvLines: Statement = {
  name: 'list-csv-lines',
  text: `
    select step, ${csvLine} as line from training_steps
    where job_id = $1::int and step > $3::int order by step limit $4::int`,
}

const measureCsvLines: Statement = {
  name: 'measure-csv-lines',
  text: `
    select coalesce(sum(octet_length(${csvLine})), 0)::float8 as "sizeBytes" from training_steps where job_id = $1::int`,
}

/** Leaves out what is null. */
const plain = (row: StepRow) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as TrainingStep

const listPage: Statement = {
  name: 'list-steps-with-times',
  text: `
    select at, ${metricOf('s')} as row from training_steps s
    where job_id = $1::int and step > $2::int order by step limit $3::int`,
}

const findSteps: Statement = {
  name: 'find-steps',
  text: `
    select loss, learning_rate, epoch, iter_time, flops, remaining_time, step, valid_loss, valid_token_accuracy, valid_rows,
      token_accuracy, series
    from training_steps where job_id = $1::int and step = any($2::int[]) order by step`,
}

const changedSteps: Statement = {
  name: 'changed-steps',
  text: `
    with claimed as (
      select coalesce(max(number), 0)::int as attempt,
        least($3::int, coalesce(min(from_step) filter (where number > $2::int), $3::int)) as "keptStep"
      from attempts where job_id = $1::int and claimed_at is not null and mode = 'train')
    select claimed.*, loss, learning_rate, epoch, iter_time, flops, remaining_time, step, valid_loss, valid_token_accuracy
    from claimed left join training_steps on job_id = $1::int and step > claimed."keptStep"
    order by step`,
}
