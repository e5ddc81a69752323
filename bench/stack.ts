// Starts a stack for one measurement and removes it afterwards.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Connection } from '../src/embedded/connection.ts'
import { root } from '../tools/paths.mjs'

type BenchStack = {
  connection: Connection
  stop: () => Promise<void>
}

export const makeHome = () => mkdtempSync(join(tmpdir(), 'anneal-bench-'))

/** Does not warm model servers, which would compete for the measured cores. */
export async function startStack(home = makeHome()): Promise<BenchStack> {
  const env = { ...process.env, ANNEAL_WARM_MODELS: '0', ANNEAL_SLOTS: '1', LOG_LEVEL: 'warn' }
  const child = spawn(process.execPath, ['src/cli.ts', 'start', '--home', home, '--port', '0'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  // Stops the stack when the measurement fails, too.
  process.once('exit', () => child.kill('SIGTERM'))
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => chunk.toString().includes('Ready in') && resolve())
    void exited.then(() => reject(new Error('the stack ended')))
  })
  return {
    connection: JSON.parse(readFileSync(join(home, 'connection.json'), 'utf8')) as Connection,
    async stop() {
      child.kill('SIGTERM')
      await exited
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export function createClient({ apiUrl, apiKey }: Connection) {
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await fetch(apiUrl + path, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }
}

export const median = (values: number[]) => quantile(values, 0.5)

export function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}
