// Starts the real supervisor with real servers in a process of its own, and looks at it from outside.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readlinkSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before } from 'node:test'
import { Client } from 'pg'
import { root } from '../../../tools/paths.mjs'
import { startTimeOf } from '../../../tools/pid-lock.mjs'
import type { Connection } from '../../../src/embedded/connection.ts'
import { stopStack } from '../../../src/embedded/stop.ts'
import { eventually } from '../../support/eventually.ts'

const cli = join(root, 'src/cli.ts')

export type StackProcess = { process: ChildProcess; output: () => string; exited: Promise<number | null> }

export function makeHome() {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-embedded-'))
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

export function startStack(home: string, port = 0, environment: NodeJS.ProcessEnv = {}): StackProcess {
  const child = spawn(process.execPath, [cli, 'start', '--home', home, '--port', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Model servers are no concern of most of these tests.
    env: { ...process.env, ANNEAL_WARM_MODELS: '0', ...environment },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)))
  return { process: child, output: () => text, exited: once(child, 'close').then(([code]) => code as number | null) }
}

export function readConnection(home: string): Connection | null {
  const path = join(home, 'connection.json')
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Connection) : null
}

export async function whenReady(home: string, stack: StackProcess): Promise<Connection> {
  return eventually(() => {
    if (stack.process.exitCode !== null) throw new Error(`The supervisor ended: ${stack.output()}`)
    return stack.output().includes('Ready in') ? readConnection(home) : null
  })
}

/** A stack for the tests of a suite, which may end it and start it again. */
export function suiteStack() {
  const home = makeHome()
  let stack = startStack(home.dir)
  before(() => whenReady(home.dir, stack))
  after(async () => {
    await stopStack(home.dir, () => {})
    home.remove()
  })
  return {
    dir: home.dir,
    current: () => stack,
    connection: () => readConnection(home.dir) ?? assert.fail('connection.json is missing'),
    startAgain: () => {
      stack = startStack(home.dir)
      return whenReady(home.dir, stack)
    },
  }
}

export function isRunning(pid: number): boolean {
  return startTimeOf(pid) !== null
}

/** Every process with this text (a directory) on its command line, in its environment or as its folder, but the one that asks. */
export function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .map(Number)
    .filter((pid) => isRunning(pid) && tracesOf(pid).some((trace) => trace.includes(home)))
}

export async function query<T extends object>(databaseUrl: string, sql: string): Promise<T[]> {
  const client = new Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<T>(sql)).rows
  } finally {
    await client.end()
  }
}

export async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.status === 200,
    () => false,
  )
}

function tracesOf(pid: number): string[] {
  const folder = `/proc/${pid}`
  try {
    return [
      readFileSync(`${folder}/cmdline`, 'utf8'),
      readFileSync(`${folder}/environ`, 'utf8'),
      readlinkSync(`${folder}/cwd`),
    ]
  } catch {
    return []
  }
}
