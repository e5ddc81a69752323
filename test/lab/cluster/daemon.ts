// One daemon of a machine, started again whenever it ends, unless it is held down.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Namespaces } from './machine.ts'

export type Daemon = ReturnType<typeof keepRunning>

const restartAfterMs = 300

export function keepRunning(machine: Namespaces, argv: string[], logs: string, machineName: string) {
  const name = argv[0] ?? ''
  let process: ChildProcess | null = null
  let wanted = true
  start()
  return { name, stop, start: resume }

  function start() {
    if (!wanted || process !== null) return
    process = machine.start(argv, join(logs, `${machineName}-${name}.log`))
    process.once('exit', () => {
      process = null
      setTimeout(start, restartAfterMs)
    })
  }

  function resume() {
    wanted = true
    start()
  }

  /** Kills the daemon at once. Its connections are not closed in an orderly way. */
  async function stop() {
    wanted = false
    if (process === null) return
    const ended = once(process, 'exit')
    process.kill('SIGKILL')
    await ended
  }
}
