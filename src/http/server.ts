// Sockets: opening a port with a clear refusal, and closing it without cutting off whoever is being answered.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuseTunnel, refuseUnreadable } from './malformed-requests.ts'

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
    // A gigabyte over a slow line may take its time; framework/slow-body-guard.ts says how slow a body may be.
    requestTimeout: 0,
    // Node itself would answer with an empty body.
    requireHostHeader: false,
  })
  server.on('request', app)
  // Expectations other than 100-continue: not worth a refusal.
  server.on('checkExpectation', app)
  server.on('clientError', refuseUnreadable)
  server.on('connect', refuseTunnel)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailureReason(error, host, port), { cause: error })
  }
  return server
}

/** Refuses new connections, lets running requests finish until `timeoutMs` has passed, then cuts them. */
export async function closeGracefully(servers: readonly Server[], timeoutMs: number) {
  const deadline = performance.now() + timeoutMs
  const closed = Promise.all(servers.map((server) => once(server, 'close')))
  let isClosed = false
  void closed.then(() => (isClosed = true))
  for (const server of servers) server.close()
  while (!isClosed) {
    for (const server of servers) {
      if (performance.now() < deadline) server.closeIdleConnections()
      else server.closeAllConnections()
    }
    await Promise.race([closed, sleep(lookAgainMs)])
  }
}

function listenFailureReason(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return `Port ${port} is in use: stop what listens there, or choose another port.`
  if (code === 'EACCES') return `Port ${port} may not be opened by this user: choose one above 1023.`
  if (code === 'EADDRNOTAVAIL') return `${host} is no address of this machine.`
  return `Port ${port} cannot be opened: ${error instanceof Error ? error.message : String(error)}`
}
