// One server of the stack, kept alive: started again with back-off whenever it ends, until it is stopped.
import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { identify, type ProcessIdentity } from '../../tools/pid-lock.mjs'
import { lastLogLine } from './logs.ts'
import { endProcess } from './end-process.ts'
import type { ProcessName } from './process-names.ts'
import { StartError } from './start-error.ts'

export type ChildSpec = {
  name: ProcessName
  command: string
  args: string[]
  env: NodeJS.ProcessEnv
  logPath: string
  /** Runs the process as this user; as the supervisor's own when absent. */
  user?: { uid: number; gid: number } | undefined
  answers: () => Promise<boolean>
  pollMs?: number
}

export type Child = {
  name: ProcessName
  identity: ProcessIdentity | null
  start(): void
  /** Resolves when the server answers. Throws a StartError when it ends again and again, or not in time. */
  whenReady(): Promise<void>
  stop(): Promise<void>
}

const firstBackoffMs = 200
const longestBackoffMs = 10_000
const stableAfterMs = 30_000
const defaultPollMs = 40
const readyTimeoutMs = 90_000
/** With the back-off about 25 s. A Postgres that was killed needs several tries to start. */
const maxEndsAtStart = 7

/** @param onChange called whenever the process has started or ended, before anything else can happen */
export function createChild(spec: ChildSpec, say: (text: string) => void, onChange: () => void): Child {
  let stopped = false
  let endCount = 0
  let backoffMs = firstBackoffMs
  let restart: NodeJS.Timeout | undefined
  const child: Child = { name: spec.name, identity: null, start, whenReady, stop }
  return child

  function start() {
    if (stopped) return
    const startedAt = performance.now()
    const log = openSync(spec.logPath, 'a', 0o600)
    // Detached: Ctrl-C must reach only the supervisor, which then stops the others in order.
    const options = {
      env: spec.env,
      stdio: ['ignore', log, log] as ['ignore', number, number],
      detached: true,
      ...spec.user,
    }
    const running = spawn(spec.command, spec.args, options)
    closeSync(log)
    running.once('error', (error) => ended(error.message, startedAt))
    running.once('exit', (code, signal) => ended(signal ?? `exit ${code}`, startedAt))
    if (running.pid === undefined) return
    child.identity = identify(running.pid)
    onChange()
  }

  function ended(reason: string, startedAt: number) {
    child.identity = null
    if (stopped) return
    onChange()
    endCount++
    if (performance.now() - startedAt > stableAfterMs) backoffMs = firstBackoffMs
    say(`${spec.name} ended (${reason}); starting it again in ${backoffMs / 1000} s. Log: ${spec.logPath}`)
    restart = setTimeout(startOrRetry, backoffMs)
    backoffMs = Math.min(backoffMs * 2, longestBackoffMs)
  }

  /** A full disk or a missing binary must not end the supervisor: the next try may succeed. */
  function startOrRetry() {
    try {
      start()
    } catch (error) {
      ended((error as Error).message, performance.now())
    }
  }

  async function whenReady() {
    const deadline = performance.now() + readyTimeoutMs
    while (!stopped) {
      if (child.identity && (await spec.answers().catch(() => false))) return
      if (endCount >= maxEndsAtStart || performance.now() > deadline) throw notReady()
      await sleep(spec.pollMs ?? defaultPollMs)
    }
    throw new StartError('The start was interrupted.')
  }

  function notReady() {
    const how = endCount > 0 ? `ended ${endCount} times` : `did not answer within ${readyTimeoutMs / 1000} s`
    return new StartError(
      `${spec.name} does not start (it ${how}): ${lastLogLine(spec.logPath).replace(/\.$/, '')}. Log: ${spec.logPath}`,
    )
  }

  async function stop() {
    stopped = true
    clearTimeout(restart)
    if (child.identity) await endProcess(spec.name, child.identity)
  }
}
