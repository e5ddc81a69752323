// The stack that the demo uses: the running one, or one that the demo starts and stops at its end.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readConnection, type Connection } from '../../embedded/connection.ts'
import { describeHome, prepareHome, type Home } from '../../embedded/data-directory.ts'
import { lastLogLine } from '../../embedded/logs.ts'
import { StartError } from '../../embedded/start-error.ts'
import { stopStack } from '../../embedded/stop.ts'
import { runningSupervisor } from '../../embedded/supervisor.ts'
import { CommandError } from '../command-error.ts'

const cli = fileURLToPath(new URL('../../cli.ts', import.meta.url))
const pollMs = 100

type Work = (connection: Connection, interrupted: AbortSignal) => Promise<number>

export async function withStack({ home: dir, port }: { home: string; port: number }, work: Work): Promise<number> {
  const interruption = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interruption.abort(signal))
  const home = describeHome(dir)
  let supervisor: ChildProcess | undefined
  try {
    prepareHome(home)
    const running = runningSupervisor(home) ? readConnection(home) : null
    if (running) console.log(`Using the service that runs in ${home.dir} (${running.apiUrl}).`)
    if (running) return await work(running, interruption.signal)
    supervisor = spawnSupervisor(home, port)
    return await work(await whenReady(home, supervisor, interruption.signal), interruption.signal)
  } catch (error) {
    return report(error, interruption.signal)
  } finally {
    if (supervisor) await stopOwn(home, supervisor)
  }
}

function spawnSupervisor(home: Home, port: number): ChildProcess {
  const logPath = home.log('supervisor')
  console.log(`Starting the service in ${home.dir} (log: ${logPath}).`)
  const log = openSync(logPath, 'a', 0o600)
  const supervisor = spawn(process.execPath, [cli, 'start', '--home', home.dir, '--port', String(port)], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  return supervisor
}

async function whenReady(home: Home, supervisor: ChildProcess, interrupted: AbortSignal): Promise<Connection> {
  const startedAt = performance.now()
  for (;;) {
    const connection = runningSupervisor(home) ? readConnection(home) : null
    if (connection) {
      console.log(`Ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s: ${connection.apiUrl}`)
      return connection
    }
    if (supervisor.exitCode !== null || supervisor.signalCode !== null) {
      throw new CommandError(lastLogLine(home.log('supervisor')))
    }
    await sleep(pollMs, undefined, { signal: interrupted })
  }
}

/** If another process started a stack at the same moment, ours has ended or waits, and theirs stays. */
async function stopOwn(home: Home, supervisor: ChildProcess) {
  if (runningSupervisor(home)?.pid !== supervisor.pid) return void supervisor.kill('SIGTERM')
  console.log('Stopping the service that the demo started.')
  await stopStack(home.dir, () => {})
}

function report(error: unknown, interrupted: AbortSignal): number {
  if (interrupted.aborted) {
    console.error(`\nInterrupted by ${interrupted.reason}.`)
    return 130
  }
  const isExpected = error instanceof CommandError || error instanceof StartError
  console.error(isExpected ? `\nThe demo failed: ${error.message}` : error)
  return 1
}
