// Opens a port, and closes it without cutting requests that are being answered.
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { refuseTunnel, refuseUnreadable } from './malformed-requests.ts'

const pollIntervalMs = 50

/** @throws Error with a message for the operator */
export async function listen(
  app: RequestListener,
  { host, port, headersTimeoutMs = 20_000 }: { host: string; port: number; headersTimeoutMs?: number },
): Promise<Server> {
  const server = createServer({
    // Longer than the usual 60 s of a proxy in front, so that the proxy closes idle connections first.
    keepAliveTimeout: 65_000,
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: headersTimeoutMs / 4,
    // A gigabyte over a slow line takes long; framework/slow-body-guard.ts limits how slow a body may be.
    requestTimeout: 0,
    // Node would refuse a missing Host header with an empty body.
    requireHostHeader: false,
  })
  server.on('request', app)
  // Answer requests with an Expect header other than 100-continue as if it were absent.
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
    await Promise.race([closed, sleep(pollIntervalMs)])
  }
}

function listenFailureReason(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use: stop the program that listens there, or choose another port.`
  if (code === 'EACCES') return `This user may not open port ${port}: choose a port above 1023.`
  if (code === 'EADDRNOTAVAIL')
    return `${host} is not an address of this machine: choose 127.0.0.1, or 0.0.0.0 for all addresses.`
  return `Port ${port} cannot be opened: ${error instanceof Error ? error.message : String(error)}`
}
