// How every connection to Postgres is made: one that does not wait for ever, whatever swallows its packets.
import { Socket } from 'node:net'

export type DatabaseTimeouts = {
  connectMs: number
  /** Ended by the server itself. */
  statementMs: number
  /** Of the whole connection; longer than any statement, for its answer may be the first that is heard again. */
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

/** A query of a connection that has died without a word would be waited for as long as the kernel tries, a quarter of an hour. */
function impatientSocket(silenceMs: number): Socket {
  const socket = new Socket()
  socket.setTimeout(silenceMs, () => {
    socket.destroy(Object.assign(new Error('The database has fallen silent.'), { code: 'ETIMEDOUT' }))
  })
  return socket
}
