// A process that holds the imports of trainers and model servers, and starts each as a fork of itself: prepared.py.
import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { machineEnvironment } from './environment.ts'

const programPath = fileURLToPath(new URL('prepared.py', import.meta.url))
const modules = ['peft', 'anneal_runtime.trainer.phases', 'anneal_runtime.server.process']
const answerTimeoutMs = 30_000
/** The process ends after this time without a launch, because it holds some hundred megabytes. */
const idleMs = 10 * 60_000

export type Prepared = {
  /** Starts the process, unless it was started. */
  prepare: () => void
  /** Null when the process is not ready: start the run without it then. */
  start: (watcherArguments: string[], environment: Record<string, string>) => Promise<string> | null
  close: () => void
}

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
  let child: ChildProcessByStdio<Writable, Readable, null> | null = null
  let isReady = false
  let nextId = 1
  let idle: NodeJS.Timeout | undefined

  function prepare() {
    if (child !== null) return
    // The process has a session of its own, so Ctrl-C reaches only the worker. It ends when its stdin ends.
    const started = spawn(python, [programPath, (options.modules ?? modules).join(',')], {
      env: environment,
      detached: true,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child = started
    started.once('error', () => forget(started))
    started.once('exit', () => forget(started))
    started.stdin.on('error', () => forget(started))
    createInterface(started.stdout).on('line', (line) => hear(line))
    for (const each of [started, started.stdin, started.stdout] as { unref?: () => void }[]) each.unref?.()
    stopWhenIdle()
  }

  function hear(line: string) {
    if (line === 'ready') {
      isReady = true
      return
    }
    const [id = '', ...answer] = line.split(' ')
    waiting.get(id)?.(answer.join(' '))
  }

  /** The next launch replaces a process that has ended. */
  function forget(ended: typeof child) {
    if (child !== ended) return
    child = null
    isReady = false
    for (const answer of waiting.values()) answer('The process that starts runs has ended.')
  }

  function stopWhenIdle() {
    clearTimeout(idle)
    idle = setTimeout(close, idleMs).unref()
  }

  function close() {
    clearTimeout(idle)
    child?.stdin.end()
  }

  function start(watcherArguments: string[], runEnvironment: Record<string, string>): Promise<string> | null {
    if (child === null || !isReady || child.stdin.writableEnded) return null
    stopWhenIdle()
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

  return { prepare, start, close }
}
