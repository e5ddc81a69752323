import { DefaultLogger } from '@temporalio/worker'
import type { Log } from '../log.ts'

const methods = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const

/** Writes Temporal's log lines to our log: its own logger writes to stderr, where a full disk ends the process. */
export const createTemporalLog = (log: Log) =>
  new DefaultLogger('TRACE', ({ level, message, meta: { error: err, ...more } = {} }) =>
    log[methods[level]]({ err: err as unknown, ...more }, message),
  )
