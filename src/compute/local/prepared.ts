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
/** It holds some hundred megabytes. */
const answerTimeoutMs = 30_000
const idleMs = 10 * 60_000

export type Prepared = {
  /** Begins to prepare, unless that was done. */
  prepare: () => void
  /** Null when the process is not ready: the run is to be started without it. */
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
  // Programs set the number of their threads themselves; it is read here for libraries that they do not set.
  const environment = { ...machineEnvironment({ env, pythonPath: resolve(pythonPath) }), OMP_NUM_THREADS: '1' }
  const waiting = new Map<string, (answer: string) => void>()
  let child: ChildProcessByStdio<Writable, Readable, null> | null = null
  let isReady = false
  let nextId = 1
  let idle: NodeJS.Timeout | undefined

  function prepare() {
    if (child !== null) return
    // A session of its own: Ctrl-C is for the worker, and the end of stdin tells of it.
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

  /** An ended process is replaced with the next launch. */
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
