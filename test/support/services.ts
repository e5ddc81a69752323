// The servers that a lane of tests needs: Postgres alone, or the whole stack with settings that tests can reach.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChild } from '../../src/embedded/child.ts'
import { describeHome, prepareHome, writePrivately } from '../../src/embedded/data-directory.ts'
import { migrate } from '../../src/embedded/migrations.ts'
import { choosePorts } from '../../src/embedded/ports.ts'
import { preparePostgres } from '../../src/embedded/postgres.ts'
import { root } from '../../tools/paths.mjs'

/** @returns how to end it */
export async function startPostgres(homeDir: string): Promise<() => Promise<void>> {
  const home = describeHome(homeDir)
  prepareHome(home)
  const { postgres: port } = await choosePorts(home, 0, () => {})
  const { signal } = new AbortController()
  const { databaseUrl, ...postgres } = await preparePostgres(home, port, 'test', signal)
  const spec = { name: 'postgres' as const, env: process.env, logPath: home.log('postgres'), ...postgres }
  const child = createChild(spec, console.log, () => {})
  child.start()
  await child.whenReady()
  await migrate(databaseUrl, signal)
  writePrivately(home.connection, { databaseUrl })
  return () => child.stop()
}

/** One slot, so that a second job waits; room for two tuned models; adapters of more than one part; limits on attempts that a test can reach. */
export function stackEnvironment(homeDir: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    ANNEAL_SLOTS: '1',
    ANNEAL_CATALOGUE: writeCatalogue(homeDir),
    ANNEAL_STALL_MINUTES: '1',
    // The least: files of the small model have several parts.
    ANNEAL_UPLOAD_PART_MIB: '5',
    ANNEAL_MAX_JOB_HOURS: '24',
    // A model may start slowly on a machine that runs other tests.
    ANNEAL_COLD_START_TIMEOUT_SECONDS: '240',
    // Suites send hundreds of wrong keys a minute from one address.
    ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE: '100000',
    // Receivers of webhooks are servers of the tests.
    ANNEAL_WEBHOOKS_ALLOW_HTTP: '1',
    ANNEAL_WEBHOOKS_PRIVATE_NETWORKS: '127.0.0.0/8',
    ANNEAL_PYTHON_GRADERS: 'sandbox',
  }
}

export const startArguments = (homeDir: string, port = '0') => [
  'src/cli.ts',
  'start',
  '--home',
  homeDir,
  '--port',
  port,
]
export const stopArguments = (homeDir: string) => ['src/cli.ts', 'stop', '--home', homeDir]

export function spawnNode(args: string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** A suite may name other models. */
function writeCatalogue(homeDir: string): string {
  const source = join(root, process.env['ANNEAL_TEST_MODELS'] ?? 'models.json')
  const { models } = JSON.parse(readFileSync(source, 'utf8')) as { models: object[] }
  const path = join(homeDir, 'models.json')
  mkdirSync(homeDir, { recursive: true })
  writeFileSync(path, JSON.stringify({ models: models.map((model) => ({ ...model, maxAdapters: 2, maxRank: 128 })) }))
  return path
}
