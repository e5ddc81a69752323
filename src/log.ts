import { pino, type Logger } from 'pino'

export type Log = Logger

/** Bytes that wait to be written; what comes then is dropped. */
const maxWaiting = 1024 * 1024

/** A line that cannot be written, as on a full disk, waits for the next one: no server ends for it, none waits for it at its end. */
export function createLog(name: string, level: string): Log {
  // Written at once: what another thread still writes would be waited for at an exit, on a full disk for ever.
  const stdout = pino.destination({ dest: 1, sync: true, maxLength: maxWaiting })
  stdout.on('error', () => undefined)
  // A line that is dropped tries nothing again, and so none ever would.
  stdout.on('drop', () => stdout.write(''))
  return pino({ name, level, base: { name } }, stdout)
}
