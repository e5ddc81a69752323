import { pino, type Logger } from 'pino'

export type Log = Logger

/** Bytes that wait to be written; what comes then is dropped. */
const mostWaiting = 1024 * 1024

/** A line that cannot be written, as on a full disk, waits for the next one: no server ends for it, none waits for it at its end. */
export function createLog(name: string, level: string): Log {
  const stdout = pino.destination({ dest: 1, sync: false, maxLength: mostWaiting })
  let hasFailed = false
  stdout.on('error', () => (hasFailed = true))
  stdout.on('write', () => (hasFailed = false))
  const giveUp = () => {
    if (hasFailed) stdout.destroy()
  }
  process.prependListener('beforeExit', giveUp).prependListener('exit', giveUp)
  return pino({ name, level, base: { name } }, stdout)
}
