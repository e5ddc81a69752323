// Answers requests that node does not hand to the app. Writes to the bare socket, in the same format as the app.
import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

/** Answers bytes that node cannot parse as a request. */
export function refuseUnreadable(error: Error & { code?: string }, socket: Duplex) {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, detail] = unreadable[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  end(socket, { status, detail, code: 'unreadable_request' })
}

const unreadable: Record<string, [status: number, detail: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The headers of the request arrived too slowly.'],
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are larger than 16 KB.'],
}

/** Answers CONNECT, for which node would close the connection without an answer. */
export function refuseTunnel(_request: IncomingMessage, socket: Duplex) {
  socket.on('error', () => undefined)
  const allowed = 'GET, HEAD, POST, DELETE'
  const detail = `CONNECT is not allowed. Use ${allowed}.`
  end(socket, { status: 405, detail, code: 'method_not_allowed' }, `Allow: ${allowed}\r\n`)
}

function end(socket: Duplex, failure: { status: number; detail: string; code: string }, moreHeaders = '') {
  const { status, detail, code } = failure
  const title = STATUS_CODES[status] ?? ''
  const requestId = randomUUID()
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, instance: '', code, request_id: requestId })
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n${moreHeaders}` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}
