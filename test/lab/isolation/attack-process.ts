// Starts the attacker in a process of its own, so that its work does not disturb the clock of the victim's probes.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import type { Attack, AttackRecord, Prepared, Stage } from './attack.ts'

export type AttackOrder = {
  name: string
  seconds: number
  apiUrl: string
  apiKey: string
  baseModel: string
  prepared: Prepared
  parts: readonly string[]
}
/** After `over` the attacker only looks at what became of its work. */
export type AttackReport = { kind: 'underway' } | { kind: 'over' } | { kind: 'ended'; record: AttackRecord }

export type AttackProcess = {
  /** Also resolves when the attack ends before it got so far. */
  underway: Promise<unknown>
  ended: Promise<AttackRecord>
  isOver: () => boolean
  stop: () => void
}

export function startAttack({ name, seconds }: Attack, stage: Stage, prepared: Prepared): AttackProcess {
  const { connection, attacker, parts } = stage
  // Detached: Linux shares the processors between sessions, and the probes need a share of their own.
  const child = fork(join(import.meta.dirname, 'attacker.ts'), { execArgv: [], detached: true })
  const underway = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<AttackRecord>()
  let isOver = false
  child.on('message', (message: AttackReport) => {
    if (message.kind === 'underway') underway.resolve()
    else isOver = true
    if (message.kind === 'ended') ended.resolve(message.record)
  })
  child.once('exit', (code) => {
    isOver = true
    ended.reject(new Error(`The attacker's process ended with ${code}.`))
  })
  // The caller hears of a failure when it awaits the end.
  ended.promise.catch(() => undefined)
  const { apiUrl, baseModel } = connection
  child.send({ name, seconds, apiUrl, apiKey: attacker.apiKey, baseModel, prepared, parts } satisfies AttackOrder)
  return {
    underway: Promise.race([underway.promise, ended.promise]),
    ended: ended.promise,
    isOver: () => isOver,
    stop() {
      // The attacker may end in this moment.
      if (child.connected) child.send('stop', () => undefined)
    },
  }
}
