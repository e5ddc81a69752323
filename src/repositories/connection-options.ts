// Options of every connection to Postgres. None waits for ever when the network drops its packets.
import { Socket } from 'node:net'

export type DatabaseTimeouts = {
  connectMs: number
  /** The server ends a longer statement. */
  statementMs: number
  /** A connection without any bytes for this long is closed. Longer than any statement may take. */
  silenceMs: number
}

export const databaseTimeouts: DatabaseTimeouts = { connectMs: 5000, statementMs: 60_000, silenceMs: 75_000 }

export const connectionOptions = (
  connectionString: string,
  { connectMs, statementMs, silenceMs }: DatabaseTimeouts = databaseTimeouts,
) => ({
  connectionString,
  connectionTimeoutMillis: connectMs,
  statement_timeout: statementMs,
  idle_in_transaction_session_timeout: statementMs,
  keepAlive: true,
  stream: () => impatientSocket(silenceMs),
})

/** Without this, a query on a silently dead connection waits for the kernel's retries: a quarter of an hour. */
function impatientSocket(silenceMs: number): Socket {
  const socket = new Socket()
  socket.setTimeout(silenceMs, () => {
    socket.destroy(Object.assign(new Error('The database sent nothing for too long.'), { code: 'ETIMEDOUT' }))
  })
  return socket
}
