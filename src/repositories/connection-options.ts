// Options of every connection to Postgres. None waits for ever when the network drops its packets.
import { Socket } from 'node:net'
import { parseIntoClientConfig } from 'pg-connection-string'
import { createPasswordCommand, passwordCommandMs, type PasswordCommand } from '../password-command.ts'

export type DatabaseAddress = {
  url: string
  /** Prints the password of an address without one. */
  passwordCommand: PasswordCommand | null
  /** Each transaction may get another session of the server, so nothing can be kept in a session. */
  isPooled: boolean
}

export const isPooled = (at: string | DatabaseAddress) => typeof at !== 'string' && at.isPooled

export type DatabaseTimeouts = {
  connectMs: number
  /** The server ends a longer statement. */
  statementMs: number
  /** A connection without any bytes for this long is closed. Longer than any statement may take. */
  silenceMs: number
}

export const databaseTimeouts: DatabaseTimeouts = { connectMs: 5000, statementMs: 60_000, silenceMs: 75_000 }

export function connectionOptions(
  at: string | DatabaseAddress,
  { connectMs, statementMs, silenceMs }: DatabaseTimeouts = databaseTimeouts,
) {
  const { url, passwordCommand } = typeof at === 'string' ? { url: at, passwordCommand: null } : at
  const parsed = parseIntoClientConfig(url)
  const password = parsed.password || (passwordCommand ? createPasswordCommand(passwordCommand, parsed) : undefined)
  // A pooler refuses connections that ask for settings of their session. Those of the user count instead.
  const timeouts = { statement_timeout: statementMs, idle_in_transaction_session_timeout: statementMs }
  return {
    ...parsed,
    ...(password !== undefined && { password }),
    ...(!isPooled(at) && timeouts),
    connectionTimeoutMillis: connectMs + (typeof password === 'function' ? passwordCommandMs : 0),
    keepAlive: true,
    stream: () => impatientSocket(silenceMs),
  }
}

/** Without this, a query on a silently dead connection waits for the kernel's retries: a quarter of an hour. */
function impatientSocket(silenceMs: number): Socket {
  const socket = new Socket()
  socket.setTimeout(silenceMs, () => {
    socket.destroy(Object.assign(new Error('The database sent nothing for too long.'), { code: 'ETIMEDOUT' }))
  })
  return socket
}
