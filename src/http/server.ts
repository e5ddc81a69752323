// Sockets: opening a port with a clear refusal, and closing it without cutting off whoever is being answered.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, STATUS_CODES, type RequestListener, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const lookAgainMs = 50

/** @throws Error with one sentence for the person who started this */
export async function listen(
  app: RequestListener,
  { host, port, headersTimeoutMs = 20_000 }: { host: string; port: number; headersTimeoutMs?: number },
): Promise<Server> {
  const server = createServer({
    // Longer than the usual 60 s of a proxy in front: it, not we, should be the one to close an idle connection.
    keepAliveTimeout: 65_000,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / 4,
    // A gigabyte over a slow line may take its time; edge/body-pace.ts says how slow a body may be.
    requestTimeout: 0,
    // Node itself would answer with an empty body.
    requireHostHeader: false,
  })
  server.on('request', app)
  // Expectations other than 100-continue: not worth a refusal.
  server.on('checkExpectation', app)
  server.on('clientError', refuseUnreadable)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(whyNot(error, host, port), { cause: error })
  }
  return server
}

/** Refuses new connections, lets running requests finish until `timeoutMs` has passed, then cuts them. */
export async function closeGracefully(servers: readonly Server[], timeoutMs: number) {
  const deadline = Date.now() + timeoutMs
  const closed = Promise.all(servers.map((server) => once(server, 'close')))
  let isClosed = false
  void closed.then(() => (isClosed = true))
  for (const server of servers) server.close()
  while (!isClosed) {
    for (const server of servers) {
      if (Date.now() < deadline) server.closeIdleConnections()
      else server.closeAllConnections()
    }
    await Promise.race([closed, sleep(lookAgainMs)])
  }
}

/** What node cannot even parse never reaches a route; it is answered in the same form. */
function refuseUnreadable(error: Error & { code?: string }, socket: Duplex) {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const [status, detail] = unreadable[error.code ?? ''] ?? [400, 'The request is not valid HTTP/1.1.']
  const title = STATUS_CODES[status] ?? ''
  const requestId = randomUUID()
  const problem = {
    type: 'about:blank',
    title,
    status,
    detail,
    instance: '',
    code: 'unreadable_request',
    request_id: requestId,
  }
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  )
}

const unreadable: Record<string, [status: number, detail: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are too large.'],
}

function whyNot(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `Port ${port} is in use: stop what listens there, or choose another port.`
  if (code === 'EACCES') return `Port ${port} may not be opened by this user: choose one above 1023.`
  if (code === 'EADDRNOTAVAIL') return `${host} is no address of this machine.`
  return `Port ${port} cannot be opened: ${error instanceof Error ? error.message : String(error)}`
}
