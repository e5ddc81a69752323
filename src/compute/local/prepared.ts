// A process that holds the imports of trainers and model servers, and starts each as a fork of itself: prepared.py.
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { machineEnvironment } from './environment.ts'

const programPath = fileURLToPath(new URL('prepared.py', import.meta.url))
const modules = ['anneal_runtime.trainer.phases', 'anneal_runtime.server.process']
const readyTimeoutMs = 60_000
const answerTimeoutMs = 30_000

export type Prepared = {
  /**
   * Starts a run as a fork. The first launch starts the process and waits for its imports, which the run would need as well.
   * The process stays, so that a model that sleeps wakes in three seconds instead of eight. It holds some hundred megabytes.
   * @returns null when there is no such process: start the run without it then
   */
  start: (watcherArguments: string[], environment: Record<string, string>) => Promise<string | null>
  close: () => void
}

type Child = ChildProcessByStdio<Writable, Readable, null>

type PreparedOptions = {
  python: string
  pythonPath: string
  env?: Record<string, string>
  modules?: string[]
}

/** @returns null on macOS and beside an NVIDIA GPU: their libraries do not survive a fork */
export function createPrepared(options: PreparedOptions): Prepared | null {
  if (process.platform !== 'linux' || existsSync('/dev/nvidiactl')) return null
  const { python, pythonPath, env = {} } = options
  // Programs set their number of threads themselves. Some libraries read it when they are imported, which is here.
  const environment = { ...machineEnvironment({ env, pythonPath: resolve(pythonPath) }), OMP_NUM_THREADS: '1' }
  const waiting = new Map<string, (answer: string) => void>()
  let current: { child: Child; ready: PromiseWithResolvers<boolean>; isImporting: boolean } | null = null
  let nextId = 1

  function prepare() {
    // The process has a session of its own, so Ctrl-C reaches only the worker. It ends when its stdin ends.
    const child: Child = spawn(python, [programPath, (options.modules ?? modules).join(',')], {
      env: environment,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const started = { child, ready: Promise.withResolvers<boolean>(), isImporting: true }
    const forget = () => {
      started.ready.resolve(false)
      if (current === started) forgetCurrent()
    }
    child.once('error', forget)
    child.once('exit', forget)
    child.stdin.on('error', forget)
    createInterface(child.stdout).on('line', (line) => {
      if (line !== 'ready') return hear(line)
      started.isImporting = false
      started.ready.resolve(true)
    })
    for (const each of [child, child.stdin, child.stdout] as { unref?: () => void }[]) each.unref?.()
    current = started
    return started
  }

  function hear(line: string) {
    const [id = '', ...answer] = line.split(' ')
    waiting.get(id)?.(answer.join(' '))
  }

  /** The next launch replaces a process that has ended. */
  function forgetCurrent() {
    current = null
    for (const answer of waiting.values()) answer('The process that starts runs has ended.')
  }

  function close() {
    current?.child.stdin.end()
    // It would look at its stdin only after the imports.
    if (current?.isImporting) current.child.kill()
  }

  async function start(watcherArguments: string[], runEnvironment: Record<string, string>): Promise<string | null> {
    const { child, ready } = current ?? prepare()
    const isReady = await Promise.race([ready.promise, sleep(readyTimeoutMs, false, { ref: false })])
    if (!isReady || child !== current?.child || child.stdin.writableEnded) return null
    const id = String(nextId++)
    const { promise, resolve: answer } = Promise.withResolvers<string>()
    const timeout = setTimeout(() => answer('no answer'), answerTimeoutMs)
    waiting.set(id, answer)
    child.stdin.write(`${JSON.stringify({ id, arguments: watcherArguments, environment: runEnvironment })}\n`)
    return promise.finally(() => {
      clearTimeout(timeout)
      waiting.delete(id)
    })
  }

  return { start, close }
}
