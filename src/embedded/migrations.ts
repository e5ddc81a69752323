// Brings the database to the schema of prisma/migrations. Prisma's command takes seconds, so it runs only when one is missing.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { root } from '../../tools/paths.mjs'
import { StartError } from './start-error.ts'

const migrationsDir = join(root, 'prisma/migrations')
/** Our own lock, because Prisma's gives up after ten seconds. */
const migrationLock = 4_027_101
const lookAgainMs = 300
const prisma = join(root, 'node_modules/prisma/build/index.js')

/** Any number may run at once: one migrates, the others wait for it. @returns whether there was something to do */
export async function migrate(databaseUrl: string, signal: AbortSignal): Promise<boolean> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    if (await isUpToDate(client)) return false
    await takeTurn(client, signal)
    if (await isUpToDate(client)) return false
    await deploy(databaseUrl, signal)
    return true
  } finally {
    await client.end()
  }
}

/**
 * The session holds the lock, so the lock ends with this process. The lock is polled: a statement that waits for a lock
 * holds a snapshot, and CREATE INDEX CONCURRENTLY would wait for that.
 */
async function takeTurn(client: Client, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [migrationLock])
    if (rows[0]?.taken) return
    await sleep(lookAgainMs, undefined, { signal })
  }
}

async function deploy(databaseUrl: string, signal: AbortSignal): Promise<void> {
  const env = { ...process.env, DATABASE_URL: databaseUrl }
  try {
    await promisify(execFile)(process.execPath, [prisma, 'migrate', 'deploy'], { cwd: root, env, signal })
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new StartError(`The database cannot be brought to this version's schema:\n${(stderr || message).trim()}`)
  }
}

/** Compares names and sums of the applied migrations, as Prisma recorded them. Prisma itself refuses an edited migration. */
export async function isUpToDate(client: Pick<Client, 'query'>): Promise<boolean> {
  const { rows: tables } = await client.query<{ name: string | null }>(
    `SELECT to_regclass('_prisma_migrations') AS name`,
  )
  if (!tables[0]?.name) return false
  const { rows } = await client.query<{ migration_name: string; checksum: string }>(
    'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
  )
  const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]))
  return [...expectedChecksums()].every(([name, checksum]) => applied.get(name) === checksum)
}

function* expectedChecksums(): Generator<[string, string]> {
  for (const name of readdirSync(migrationsDir)) {
    const file = join(migrationsDir, name, 'migration.sql')
    if (existsSync(file)) yield [name, createHash('sha256').update(readFileSync(file)).digest('hex')]
  }
}
