// Brings the database to the schema of prisma/migrations. Prisma's command takes seconds, so it runs only when one is missing.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { nodeBinary, root } from '../../tools/paths.mjs'
import { StartError } from './start-error.ts'

const migrationsDir = join(root, 'prisma/migrations')
const prisma = join(root, 'node_modules/prisma/build/index.js')

export async function migrate(databaseUrl: string, signal: AbortSignal): Promise<void> {
  if (await isUpToDate(databaseUrl)) return
  const env = { ...process.env, DATABASE_URL: databaseUrl }
  try {
    await promisify(execFile)(nodeBinary, [prisma, 'migrate', 'deploy'], { cwd: root, env, signal })
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new StartError(`The database cannot be brought to this version's schema:\n${(stderr || message).trim()}`)
  }
}

/** Prisma writes name and sha256 of each migration that went through; an edited one is left to it to refuse. */
async function isUpToDate(databaseUrl: string): Promise<boolean> {
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string | null }>(
      `SELECT to_regclass('_prisma_migrations') AS name`,
    )
    if (!tables[0]?.name) return false
    const { rows } = await client.query<{ migration_name: string; checksum: string }>(
      'SELECT migration_name, checksum FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL',
    )
    const applied = new Map(rows.map((row) => [row.migration_name, row.checksum]))
    return [...expectedChecksums()].every(([name, checksum]) => applied.get(name) === checksum)
  } finally {
    await client.end()
  }
}

function* expectedChecksums(): Generator<[string, string]> {
  for (const name of readdirSync(migrationsDir)) {
    const file = join(migrationsDir, name, 'migration.sql')
    if (existsSync(file)) yield [name, createHash('sha256').update(readFileSync(file)).digest('hex')]
  }
}
