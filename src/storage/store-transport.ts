// HTTP to the object store with limits on connecting and on silence.
import * as http from 'node:http'
import * as https from 'node:https'
import { sinceBootMs } from '../monotonic-clock.ts'

export type StoreTimeouts = {
  connectMs: number
  silenceMs: number
  /** For copies and for completing uploads: the store works before it answers. */
  workMs: number
}

export const storeTimeouts: StoreTimeouts = { connectMs: 5000, silenceMs: 30_000, workMs: 5 * 60_000 }

/** Statuses of a busy store or proxy, after which the client library asks once more. */
const busyStatuses = [408, 429, 499, 500, 502, 503, 504, 520]

export type StoreTransport = Pick<typeof http, 'request'> & {
  /** The store's time at its last answer: our own clock may be set meanwhile. */
  now(): Date
}

export function createStoreTransport({ useSSL, timeouts }: { useSSL: boolean; timeouts: StoreTimeouts }) {
  const { request } = useSSL ? https : http
  let lastAnswer: { storeMs: number; atMs: number } | null = null
  return {
    now: () => new Date(lastAnswer ? lastAnswer.storeMs + sinceBootMs() - lastAnswer.atMs : Date.now()),

    request(...args: Parameters<typeof http.request>) {
      const outgoing = request(...args)
      limit(outgoing, timeouts)
      outgoing.once('response', ({ headers }) => {
        const storeMs = Date.parse(headers.date ?? '')
        if (!Number.isNaN(storeMs)) lastAnswer = { storeMs, atMs: sinceBootMs() }
      })
      return outgoing
    },
  } as StoreTransport
}

function limit(outgoing: http.ClientRequest, { connectMs, silenceMs, workMs }: StoreTimeouts) {
  let isConnecting = true
  // After a stall of this process the connection may be there already: its event is read before the check.
  const giveUp = () => isConnecting && outgoing.destroy(late('cannot be reached'))
  const connecting = setTimeout(() => setImmediate(giveUp), connectMs)
  const stop = () => {
    isConnecting = false
    clearTimeout(connecting)
  }
  outgoing.once('close', stop)
  outgoing.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', stop)
    else stop()
  })
  const isWork = outgoing.method === 'POST' || outgoing.hasHeader('x-amz-copy-source')
  const quietMs = isWork ? workMs : silenceMs
  let response: http.IncomingMessage | undefined
  outgoing.once('response', (incoming) => {
    response = incoming
    // The client library asks again and leaves this body unread, which would keep its connection busy for ever.
    if (busyStatuses.includes(incoming.statusCode ?? 0)) incoming.resume()
  })
  outgoing.setTimeout(quietMs, () => {
    // Node's agent has a limit of its own for new connections.
    if (isConnecting) return
    // Data has arrived and waits for its reader: the store is not silent.
    if (response && response.readableLength > 0) outgoing.socket?.setTimeout(quietMs)
    else if (response) response.destroy(late('has fallen silent'))
    else outgoing.destroy(late('has fallen silent'))
  })
}

const late = (what: string) => Object.assign(new Error(`The object store ${what}.`), { code: 'ETIMEDOUT' })
