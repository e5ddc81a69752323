// Postgres 16 with pgvector, from the Python environment's wheel.
import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { toolPath } from '../../tools/paths.mjs'
import type { ChildSpec } from './child.ts'
import type { Home } from './data-directory.ts'
import { chooseDatabaseUser, type DatabaseUser } from './database-user.ts'
import { StartError } from './start-error.ts'

const role = 'anneal'

type Postgres = Pick<ChildSpec, 'command' | 'args' | 'user' | 'answers'> & { databaseUrl: string }

export async function preparePostgres(
  home: Home,
  port: number,
  password: string,
  signal: AbortSignal,
): Promise<Postgres> {
  const bin = (name: string) => join(toolPath('postgresBinDir'), name)
  const runAs = chooseDatabaseUser(home, bin('postgres'))
  if (!existsSync(join(home.postgres, 'PG_VERSION'))) await createCluster(home, bin('initdb'), password, runAs, signal)
  const url = (database: string) => `postgresql://${role}:${password}@127.0.0.1:${port}/${database}`
  const settings = [
    '-k',
    '',
    '-h',
    '127.0.0.1',
    '-p',
    String(port),
    '-c',
    'max_connections=200',
    '-c',
    'log_checkpoints=off',
  ]
  const { command, args } = runAs.wrap(bin('postgres'), ['-D', home.postgres, ...settings])
  return { command, args, user: runAs.user, databaseUrl: url(role), answers: () => answers(url('postgres')) }
}

/** Creates the cluster under a temporary name, so that a start killed halfway leaves no half-made database. */
async function createCluster(
  home: Home,
  initdb: string,
  password: string,
  { wrap, user }: DatabaseUser,
  signal: AbortSignal,
) {
  const temporary = `${home.postgres}.tmp`
  const passwordFile = `${home.postgres}.password`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(temporary, { mode: 0o700 })
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (user) for (const path of [temporary, passwordFile]) chownSync(path, user.uid, user.gid)
  const login = ['-U', role, '-A', 'scram-sha-256', `--pwfile=${passwordFile}`]
  const { command, args } = wrap(initdb, ['-D', temporary, ...login, '-E', 'UTF8', '--locale=C'])
  try {
    await promisify(execFile)(command, args, { ...user, cwd: home.dir, signal })
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new StartError(
      `The database cannot be created in ${home.postgres}: ${(stderr || message).trim().split('\n').at(-1)}`,
    )
  } finally {
    rmSync(passwordFile, { force: true })
  }
  renameSync(temporary, home.postgres)
}

/** True once the server accepts our password. Creates our database if it is missing. */
async function answers(adminUrl: string): Promise<boolean> {
  const client = new Client({ connectionString: adminUrl, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [role])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${role}`)
    return true
  } finally {
    await client.end().catch(() => {})
  }
}
