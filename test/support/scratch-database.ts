// A database with all migrations and a clock that a test sets, beside the one that other suites share.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { root } from '../../tools/paths.mjs'
import type { Tables } from '../lab/simulation/in-memory-repositories/transactions.ts'
import { connection } from './stack.ts'

/** Our own now() stands before Postgres' in statements and in the defaults of columns. */
const clock = `
  create table public.clock (at timestamptz not null);
  insert into public.clock values ('epoch');
  create function public.now() returns timestamptz language sql stable as 'select at from public.clock';
  do $$
    declare each record;
    begin
      execute format('alter database %I set search_path = public, pg_catalog', current_database());
      for each in select table_name, column_name from information_schema.columns
        where table_schema = 'public' and column_default in ('CURRENT_TIMESTAMP', 'now()', 'pg_catalog.now()')
      loop
        execute format('alter table %I alter column %I set default public.now()', each.table_name, each.column_name);
      end loop;
    end $$`

/** The tables of jobs, those that refer to others first. Truncating all of them takes ten times as long. */
const clearing = [
  ...['evaluations', 'models', 'artifacts', 'training_steps', 'job_events', 'attempts', 'outbox_messages'],
  ...['training_jobs', 'dataset_versions', 'idempotency_keys', 'usage_days', 'accounts'],
]
  .map((table) => `delete from ${table};`)
  .concat(settingSequences({ trainingJob: 0, jobEvent: 0, outboxMessage: 0 }))
  .join('')

/** To the numbers that were drawn last. */
function settingSequences(last: Tables['sequences']): string {
  const names = { trainingJob: 'training_jobs', jobEvent: 'job_events', outboxMessage: 'outbox_messages' }
  return Object.entries(names)
    .map(([name, table]) => `select setval('${table}_id_seq', ${last[name as keyof typeof last] + 1}, false);`)
    .join('')
}

export async function createScratchDatabase() {
  const { databaseUrl } = connection()
  const name = `scratch_${randomBytes(4).toString('hex')}`
  const url = Object.assign(new URL(databaseUrl), { pathname: name }).href
  await query(databaseUrl, `create database ${name}`)
  await query(url, ...migrations(), clock)
  const client = await connect(url)
  return {
    url,
    client,
    setNow: (at: Date) => client.query('update clock set at = $1', [at]),
    setSequences: (last: Tables['sequences']) => client.query(settingSequences(last)),
    /** Empties the tables and starts their sequences again. */
    clear: () => client.query(clearing),
    async drop() {
      await client.end()
      await query(databaseUrl, `drop database ${name} with (force)`)
    },
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

async function query(url: string, ...statements: string[]) {
  const client = await connect(url)
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

function migrations(): string[] {
  const folder = join(root, 'prisma/migrations')
  const names = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory())
  return names
    .map((each) => each.name)
    .toSorted()
    .map((each) => readFileSync(join(folder, each, 'migration.sql'), 'utf8'))
}
