// What was recorded of a simulated database, done again on Postgres, at the same times. Says where the two differ.
import { PrismaPg } from '@prisma/adapter-pg'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { types } from 'node:util'
import pg from 'pg'
import { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import { root } from '../../tools/paths.mjs'
import type { RecordedStatement, RecordedTransaction, Recorder } from '../simulation/database/recorder.ts'
import type { Row } from '../simulation/database/rows.ts'
import type { Sent } from '../simulation/database/sent.ts'
import { tableNames } from '../simulation/database/tables.ts'
import { kernel } from '../simulation/kernel.ts'

type Tables = Record<string, Record<string, (args: object) => Promise<unknown>>>
class RolledBack extends Error {}

/** Our own clock stands before Postgres': `now()` of a statement and of a column's default. */
const ownClock = `
  create function public.now() returns timestamptz language sql stable as
    $$ select coalesce(nullif(current_setting('anneal.now', true), '')::timestamptz, pg_catalog.now()) $$;
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

/** An empty database with all migrations. */
export async function migrate(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const folder = join(root, 'prisma/migrations')
  const names = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory())
  for (const { name } of names.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    await client.query(readFileSync(join(folder, name, 'migration.sql'), 'utf8'))
  await client.query(ownClock)
  await client.end()
}

/** @returns what was answered otherwise, and which rows are others in the end */
export async function replay(url: string, { initial, transactions, rows }: Recorder): Promise<string[]> {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const client = new PrismaClient({ adapter: new PrismaPg(pool) })
  const tables = client as unknown as Tables
  const differences: string[] = []
  try {
    for (const [table, data] of initial) await tables[table]?.['create']?.({ data: withoutNulls(data) })
    for (const transaction of transactions) await replayTransaction(client, transaction, differences)
    for (const table of tableNames) {
      const real = (await tables[table]?.['findMany']?.({})) as Row[]
      const simulated = [...(rows?.table(table).values() ?? [])]
      if (!isSame(toSorted(real), toSorted(simulated)))
        differences.push(`${table} in the end: ${print(real)}, simulated ${print(simulated)}`)
    }
    return differences
  } finally {
    await client.$disconnect()
    await pool.end()
  }
}

async function replayTransaction(client: PrismaClient, transaction: RecordedTransaction, differences: string[]) {
  const { startMs, isCommitted, statements } = transaction
  const work = client.$transaction(async (tx) => {
    await tx.$executeRaw`select set_config('anneal.now', ${new Date(startMs).toISOString()}, true)`
    for (const statement of statements) await replayStatement(tx, statement, differences)
    if (!isCommitted) throw new RolledBack()
  })
  await work.catch((error: unknown) => {
    if (!(error instanceof RolledBack)) throw error
  })
}

async function replayStatement(tx: Prisma.TransactionClient, recorded: RecordedStatement, differences: string[]) {
  const { sent, atMs, outcome } = recorded
  kernel().nowMs = atMs
  const real = await send(tx, sent).then(
    (answer) => ({ answer }),
    (error: unknown) => {
      if (!(error instanceof Prisma.PrismaClientKnownRequestError)) throw error
      return { refusal: error.code }
    },
  )
  if ('refusal' in real) {
    if (!('refusal' in outcome) || outcome.refusal !== real.refusal)
      differences.push(`${describe(sent)} was refused with ${real.refusal}, simulated ${print(outcome)}`)
    throw new RolledBack()
  }
  const expected = 'answer' in outcome ? outcome.answer : outcome
  // Nobody reads it.
  if (expected === undefined) return
  const isOrdered = sent.kind === 'verb' ? 'orderBy' in sent.args : /\border by [^()]+$/.test(textOf(sent))
  const [a, b] = isOrdered ? [real.answer, expected] : [toSorted(real.answer), toSorted(expected)]
  if (!isSame(a, b)) differences.push(`${describe(sent)} answered ${print(a)}, simulated ${print(b)}`)
}

function send(tx: Prisma.TransactionClient, sent: Sent): Promise<unknown> {
  if (sent.kind === 'statement') return tx.$queryRawUnsafe(sent.statement.text, ...sent.values)
  if (sent.kind === 'template') return tx[sent.method](sent.strings, ...sent.values)
  const run = (tx as unknown as Tables)[sent.table]?.[sent.verb]
  if (!run) throw new Error(`Prisma has no ${describe(sent)}`)
  return run(sent.args)
}

const textOf = (sent: Exclude<Sent, { kind: 'verb' }>) =>
  sent.kind === 'template' ? sent.strings.join('?') : sent.statement.text
const describe = (sent: Sent) =>
  sent.kind === 'verb'
    ? `${sent.table}.${sent.verb}(${print(sent.args)})`
    : `${textOf(sent)} with ${print(sent.values)}`

const withoutNulls = (row: Row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))
const toSorted = (value: unknown): unknown =>
  Array.isArray(value) ? value.toSorted((a, b) => (print(a) < print(b) ? -1 : 1)) : value

/** Columns that no statement of a job reads are not simulated. */
function isSame(real: unknown, simulated: unknown): boolean {
  const [a, b] = [plain(real), plain(simulated)]
  if (typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a))
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, at) => isSame(each, b[at]))
  if (!isRow(a) || !isRow(b)) return a === b
  return Object.keys(a).every((field) => !(field in b) || isSame(a[field], b[field]))
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null

function plain(value: unknown): unknown {
  if (types.isDate(value)) return value.getTime()
  if (typeof value === 'bigint') return Number(value)
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

/** Keys in order, so that it can be sorted by. */
const print = (value: unknown): string => {
  const each = plain(value)
  if (Array.isArray(each)) return `[${each.map(print).join()}]`
  if (!isRow(each)) return JSON.stringify(each) ?? 'undefined'
  const fields = Object.keys(each).toSorted()
  return `{${fields.map((field) => `${field}:${print(each[field])}`).join()}}`
}
