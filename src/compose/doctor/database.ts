import pg from 'pg'
import { failed, ok, warning, type Finding } from '../../domain/finding.ts'
import { isUpToDate } from '../../embedded/migrations.ts'
import { connectionOptions, type DatabaseAddress } from '../../repositories/connection-options.ts'
import { clockAhead, type ClockReading } from './clocks.ts'
import { reasonOf, runCheck } from './run-check.ts'

type Addresses = { database: DatabaseAddress; databaseSession: DatabaseAddress }

const notificationMs = 5000

const reach =
  'Set DATABASE_URL to a Postgres that this process reaches. Behind a pooler of transactions, set ANNEAL_DATABASE_SESSION_URL too.'

export async function checkDatabase({ database, databaseSession }: Addresses) {
  const clock: ClockReading = { of: 'database', aheadMs: null }
  const findings = [
    await runCheck('database', reach, () => withClient(database, (client) => reached(client, clock))),
    // Not answered one by one: without a connection, every further line would repeat the first.
    ...(clock.aheadMs === null ? [] : await furtherChecks({ database, databaseSession })),
  ]
  return { findings, clock }
}

async function reached(client: pg.Client, clock: ClockReading) {
  let version = ''
  clock.aheadMs = await clockAhead(async () => {
    const { rows } = await client.query<{ version: string; now: Date }>(
      `select current_setting('server_version') as version, clock_timestamp() as now`,
    )
    version = rows[0]?.version ?? ''
    return rows[0]?.now.getTime() ?? NaN
  })
  // Asked of our own connection, because behind a pooler the database sees only the pooler's.
  const isEncrypted = (client as unknown as { connection: { stream: { encrypted?: boolean } } }).connection.stream
    .encrypted
  return ok(`PostgreSQL ${version} answers, ${isEncrypted ? 'with TLS' : 'without TLS'}`)
}

async function furtherChecks({ database, databaseSession }: Addresses): Promise<Finding[]> {
  return [
    await runCheck('database schema', 'Look into the message of the database.', () =>
      withClient(databaseSession, async (client) =>
        (await isUpToDate(client))
          ? ok('has every migration of this release')
          : failed('lacks a migration of this release', 'Run `anneal migrate` as a user who may change the schema.'),
      ),
    ),
    await runCheck('database rights', 'Look into the message of the database.', () => withClient(database, mayUse)),
    await runCheck('notifications', 'Set ANNEAL_DATABASE_SESSION_URL to the address past the pooler.', () =>
      withClient(databaseSession, (listener) => withClient(database, (teller) => areHeard(listener, teller))),
    ),
  ]
}

async function mayUse(client: pg.Client) {
  const { rows } = await client.query<{ name: string; isMissing: boolean }>(`
    select relname as name, not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert') and
      has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete')) as "isMissing"
    from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
      and relname <> '_prisma_migrations'
    union all
    select relname, not has_sequence_privilege(oid, 'usage')
    from pg_class where relkind = 'S' and relnamespace = current_schema()::regnamespace
    order by name`)
  const missing = rows.filter(({ isMissing }) => isMissing).map(({ name }) => name)
  if (missing.length === 0) return ok(`the user may read and write all ${rows.length} tables and sequences`)
  const some = missing.slice(0, 3).join(', ')
  return failed(
    `the user lacks rights on ${missing.length} of ${rows.length} tables and sequences: ${some}${missing.length > 3 ? ', …' : ''}`,
    'Grant what docs/operations.md lists under "The database".',
  )
}

/** The wakers of loops and streams need one session that stays. Without them everything works, only later. */
async function areHeard(listener: pg.Client, teller: pg.Client) {
  const channel = `anneal_doctor_${process.pid}_${Date.now()}`
  const { promise: heard, resolve } = Promise.withResolvers<boolean>()
  listener.on('notification', (message) => resolve(message.channel === channel))
  const timer = setTimeout(() => resolve(false), notificationMs)
  await listener.query(`listen ${channel}`)
  await teller.query('select pg_notify($1, $2)', [channel, ''])
  const isHeard = await heard
  clearTimeout(timer)
  if (isHeard) return ok('arrive')
  return warning(
    'do not arrive, so everything that waits for one is late: this happens behind a pooler of transactions',
    'Set ANNEAL_DATABASE_SESSION_URL to the address past the pooler.',
  )
}

async function withClient<T>(at: DatabaseAddress, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionOptions(at))
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch((error: unknown) => reasonOf(error))
  }
}
