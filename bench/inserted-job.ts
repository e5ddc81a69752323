// Jobs that are only rows: their steps come at any pace without a trainer. What they cost the api and its database.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { documentedDefaults } from '../src/domain/training-args.ts'
import type { Connection } from '../src/embedded/connection.ts'

/** A trainer reports about as often. */
export const reportEveryMs = 500
/** The api reads only these parts of a job's spec. */
const insertedSpec = JSON.stringify({
  args: { ...documentedDefaults, max_steps: 200_000, num_train_epochs: null },
  givenArgs: [],
  gpus: null,
  nodes: 1,
})
/** Linux counts processor time in these ticks on all architectures that we support. */
const ticksPerSecond = 100

export async function insertedJobs({ databaseUrl, processes }: Connection) {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const { rows: accounts } = await database.query<{ account_id: string }>('select account_id from api_keys limit 1')
  const accountId = accounts[0]?.account_id

  const insertSteps = (jobId: number, from: number, to: number) =>
    database.query(
      `insert into training_steps (job_id, step, attempt, loss, learning_rate, epoch, iter_time, flops, remaining_time)
       select $1, step, 1, 1.5, 0.001, 1, 0.1, 1e9, 60 from generate_series($2::int, $3::int) step`,
      [jobId, from, to],
    )

  return {
    database,
    insertSteps,

    /** A job in training with so many steps. */
    async insertJob(steps: number): Promise<number> {
      const { rows } = await database.query<{ id: number }>(
        `with version as (
           insert into dataset_versions (id, account_id, dataset_id, version, upload_key)
           values (gen_random_uuid(), $1, gen_random_uuid()::text, 1, 'none') returning id)
         insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec, spec_hash, resume_limit)
         select $1, 'none', id, 'rows', 'm', 'TRAINING MODEL', $2::jsonb, 'none', 1 from version returning id`,
        [accountId, insertedSpec],
      )
      const id = rows[0]?.id ?? 0
      // The reaper leaves a job alone whose start is still to be delivered.
      await database.query(
        `insert into outbox_messages (workflow_id, kind, generation, payload, claimed_until)
         values ('fine-tune-' || $1::int, 'start', 1, '{}', now() + interval '1 day')`,
        [id],
      )
      await insertSteps(id, 1, steps)
      return id
    },

    /** Ended jobs, a second apart. Each of the newest hundred has reported a hundred steps. */
    async insertEndedJobs(count: number): Promise<void> {
      const id = await this.insertJob(0)
      await database.query(
        `insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec, spec_hash,
           resume_limit, custom_model_name, created_at)
         select account_id, api_key_id, dataset_version_id, dataset_id, base_model, 'COMPLETED', spec, 'none', 1, 'job ' || nth,
           now() - make_interval(secs => nth)
         from training_jobs, generate_series(1, $2::int) nth where id = $1`,
        [id, count],
      )
      await database.query(
        `insert into training_steps (job_id, step, attempt, loss, learning_rate, epoch, iter_time, flops, remaining_time)
         select newest.id, step * 10, 1, 3 * exp(-step / 30.0) + random() / 10, 0.001, 1, 0.1, 1e9, 0
         from (select id from training_jobs where account_id = $1 and status = 'COMPLETED'
           order by created_at desc limit 100) newest, generate_series(1, 100) step`,
        [accountId],
      )
    },

    /** Processor time of the api in seconds. */
    apiSeconds(): number {
      const [user = 0, system = 0] = readFileSync(`/proc/${processes.api}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
        .slice(11, 13)
        .map(Number)
      return (user + system) / ticksPerSecond
    },

    /** Transactions of all processes so far. */
    async transactions(): Promise<number> {
      // A connection of the api counts its transactions a while after they are done.
      await sleep(5000)
      const { rows } = await database.query<{ count: string }>(
        `select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()`,
      )
      return Number(rows[0]?.count)
    },

    end: () => database.end(),
  }
}
