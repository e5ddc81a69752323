import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createLocalModelServers, createLocalTrainers } from '../../../src/compute/local/local-compute.ts'
import type { LocalComputeOptions } from '../../../src/compute/local/local-compute.ts'
import type { ModelServerCompute } from '../../../src/compute/model-servers.ts'
import type { TrainerCompute, TrainerSpec } from '../../../src/compute/trainers.ts'
import { until, patienceMs } from '../../support/eventually.ts'

/** Not a version manager's shim of it, which would add to the environment. */
export const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim()

type Options = Partial<LocalComputeOptions & { slots: number }>

/** Runs whose program is the shell script in their SCRIPT variable. */
function shellOptions(home: string, options: Options): LocalComputeOptions & { slots?: number } {
  const shell = ['/bin/sh', '-c', 'eval "$SCRIPT"']
  const programs = { trainer: shell, 'model-server': shell }
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  return { home, python, pythonPath: 'runtime', modelsDir: 'models', env, programs, ...options }
}

export const shellCompute = (home: string, options: Options = {}): TrainerCompute =>
  createLocalTrainers(shellOptions(home, options))

export const shellModelServers = (home: string, options: Options = {}): ModelServerCompute =>
  createLocalModelServers(shellOptions(home, options))

/** A home of its own, whose runs all end with the test. */
export function testHome(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'anneal-compute-'))
  t.after(async () => {
    for (const compute of [shellCompute(home), shellModelServers(home)])
      for (const { name } of await compute.list()) await compute.terminate({ name }, { graceMs: 0 })
    rmSync(home, { recursive: true, force: true })
  })
  return home
}

export function shellRun(name: string, script: string, more: Partial<TrainerSpec> = {}): TrainerSpec {
  const resources = { cpuCount: 1, gpuCount: 0 }
  return {
    name,
    labels: {},
    secretEnv: {},
    resources,
    terminationGraceMs: 0,
    ...more,
    env: { SCRIPT: script, ...more.env },
  }
}

/** A program that says it runs, then waits until it is ended. */
export const waits = 'echo ready; exec sleep 600'

export function runFile(home: string, name: string, file: string): string {
  return readFileSync(join(home, 'runs', name, file), 'utf8')
}

export function pidOf(home: string, name: string, file = 'pid'): number {
  return Number(runFile(home, name, file))
}

export async function untilLogged(home: string, name: string, text: string): Promise<void> {
  const path = join(home, 'runs', name, 'log')
  await until(`${name} logs ${text}`, () => existsSync(path) && readFileSync(path, 'utf8').includes(text))
}

/** Neither gone nor a zombie. */
export function lives(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** A process outside any run. */
export function bystander(t: TestContext): ChildProcess & { pid: number } {
  const child = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  return child as ChildProcess & { pid: number }
}

export const patience = () => AbortSignal.timeout(patienceMs)
