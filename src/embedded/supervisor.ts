// `npm start`: one supervisor per data directory, in the foreground, until it is told to stop.
import { setTimeout as sleep } from 'node:timers/promises'
import { lockOwner, releaseLock, takeLock } from '../../tools/pid-lock.mjs'
import { consoleLink } from './console-link.ts'
import { readConnection, removeConnection } from './connection.ts'
import { describeHome, prepareHome, type Home } from './data-directory.ts'
import { createStack, type Stack } from './stack.ts'
import { StartError } from './start-error.ts'

type SupervisorOptions = { home: string; port: number }

const pollMs = 200

/** Resolves with the exit code: 0 after a clean stop, or when a supervisor already runs on this home. */
export async function runSupervisor({ home: dir, port }: SupervisorOptions): Promise<number> {
  const interrupted = firstSignal()
  const home = describeHome(dir)
  try {
    prepareHome(home)
    if (!(await takeOver(home, interrupted))) return 0
  } catch (error) {
    return report(error)
  }
  const stack = createStack({ home, port, say })
  try {
    removeConnection(home)
    return await supervise(home, stack, interrupted)
  } catch (error) {
    await stack.stop()
    return report(error)
  } finally {
    releaseLock(home.lock)
  }
}

async function supervise(home: Home, stack: Stack, interrupted: Promise<NodeJS.Signals>): Promise<number> {
  const startedAt = performance.now()
  console.log(`Starting Anneal in ${home.dir}`)
  const outcome = await Promise.race([stack.start(), interrupted])
  if (typeof outcome !== 'string') {
    console.log(`Ready in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`)
    await describe(home)
  }
  const signal = await interrupted
  console.log(`${signal}: stopping`)
  await stack.stop()
  console.log('Stopped.')
  return 0
}

/** Waits for a supervisor that is starting or stopping. @returns false when one is ready here already, or after a signal */
async function takeOver(home: Home, interrupted: Promise<NodeJS.Signals>): Promise<boolean> {
  for (let waited = 0; ; waited++) {
    const owner = takeLock(home.lock)
    if (!owner) return true
    if (readConnection(home)) {
      console.log(`Anneal already runs in ${home.dir} (pid ${owner.pid}).`)
      await describe(home)
      return false
    }
    if (waited === 0)
      console.log(`Another Anneal in ${home.dir} (pid ${owner.pid}) is starting or stopping; waiting for it.`)
    if (await Promise.race([interrupted, sleep(pollMs)])) return false
  }
}

export function runningSupervisor(home: Home) {
  return lockOwner(home.lock)
}

async function describe(home: Home) {
  const connection = readConnection(home)
  if (!connection) return
  console.log(`  Console      ${await consoleLink(connection)}`)
  console.log('               The link signs you in once, within a minute. `npm start` prints a new one.')
  console.log(`  API          ${connection.apiUrl}`)
  console.log(`  Temporal UI  ${connection.temporalUiUrl}`)
  console.log(`  API key      in ${home.connection}`)
  console.log(`  Logs         ${home.log('*')}`)
}

function firstSignal(): Promise<NodeJS.Signals> {
  // The terminal may be gone: a failed write must not end the supervisor.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, resolve)
  })
}

function say(text: string) {
  console.log(`  ${text}`)
}

function report(error: unknown): number {
  const { code, message, path } = error as NodeJS.ErrnoException
  if (error instanceof StartError) console.error(`Anneal cannot start: ${message}`)
  else if (code === 'ENOSPC') console.error(`Anneal cannot start: the disk is full (${path ?? message}).`)
  else console.error('Anneal cannot start:', error)
  return 1
}
