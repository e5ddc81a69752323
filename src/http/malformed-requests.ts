// What node keeps from the routes, answered on the bare socket in the form that they answer in.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** What node cannot even parse. */
export function refuseUnreadable(error: Error & { code?: string }, socket: Duplex) {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, detail] = unreadable[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  end(socket, { status, detail, code: 'unreadable_request' })
}

const unreadable: Record<string, [status: number, detail: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are too large.'],
}

/** CONNECT: node would close the connection without a word. */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex) {
  socket.on('error', () => undefined)
  const allowed = 'GET, HEAD, POST, DELETE'
  const detail = `CONNECT is not possible here; use ${allowed}.`
  end(socket, { status: 405, detail, code: 'method_not_allowed' }, `Allow: ${allowed}\r\n`)
}

function end(socket: Duplex, refusal: { status: number; detail: string; code: string }, moreHeaders = '') {
  const { status, detail, code } = refusal
  const title = STATUS_CODES[status] ?? ''
  const requestId = randomUUID()
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, instance: '', code, request_id: requestId })
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n${moreHeaders}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
