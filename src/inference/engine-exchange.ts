// One request to an engine over a kept-alive connection, and its possible ends.
// Uses node:http because fetch gives up on an answer after five minutes, and a long batch may take longer.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

/** A ready replica and its bearer token. The server takes turns between the accounts for which it is asked. */
export type Endpoint = {
  baseModel: string
  generation: number
  instance: string
  url: string
  token: string
  accountId?: string
}

/** The intended server did not answer. Another try may reach its successor. */
export class EngineLost extends Error {
  /** The server had received the request: a request that ends server after server may be the cause. */
  readonly wasReached: boolean

  constructor(message: string, wasReached: boolean, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EngineLost'
    this.wasReached = wasReached
  }
}

/** The engine's refusal: `{"error": {"message", "param", "index"}}`. */
export class EngineRefusal extends Error {
  readonly status: number
  readonly param: string | null
  /** Position of the refused item in the request's list. */
  readonly index: number | null

  constructor(status: number, message: string, param: string | null, index: number | null) {
    super(message)
    this.name = 'EngineRefusal'
    this.status = status
    this.param = param
    this.index = index
  }
}

const agents = {
  'http:': { request: httpRequest, agent: new HttpAgent({ keepAlive: true, maxFreeSockets: 64 }) },
  'https:': { request: httpsRequest, agent: new HttpsAgent({ keepAlive: true, maxFreeSockets: 64 }) },
}

/** Resolves with the answer's head; reading its body throws as `exchange` does. */
export type Incoming = {
  statusCode: number | undefined
  whole: <T>(read: (body: IncomingMessage) => Promise<T>) => Promise<T>
  pieces: () => AsyncIterable<Buffer>
}

/** The pieces of the body. One text is sent together with the head. */
export type Payload = [string] | Buffer[]

/** A kept connection that the server has just closed is no lost server: try once more on another connection. */
export async function exchange(
  endpoint: Endpoint,
  method: string,
  path: string,
  signal: AbortSignal,
  payload: Payload,
): Promise<Incoming> {
  for (;;) {
    const incoming = await exchangeOnce(endpoint, method, path, signal, payload)
    if (incoming) return readable(endpoint, incoming, signal)
  }
}

function readable(endpoint: Endpoint, incoming: IncomingMessage, signal: AbortSignal): Incoming {
  const why = (error: unknown) => (signal.aborted ? (signal.reason as Error) : lost(endpoint, error))
  return {
    statusCode: incoming.statusCode,
    whole: (read) =>
      read(incoming).catch((error: unknown) => {
        throw why(error)
      }),
    async *pieces() {
      try {
        for await (const piece of incoming) yield piece as Buffer
      } catch (error) {
        throw why(error)
      }
    },
  }
}

/** @returns null when the server had closed the kept connection already */
function exchangeOnce(endpoint: Endpoint, method: string, path: string, signal: AbortSignal, payload: Payload) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage | null>()
  const url = new URL(path, endpoint.url)
  const { request, agent } = agents[url.protocol as keyof typeof agents]
  const headers = {
    authorization: `Bearer ${endpoint.token}`,
    'content-type': 'application/json',
    'content-length': payload.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0),
    ...(endpoint.accountId !== undefined && { 'x-anneal-account': endpoint.accountId }),
  }
  const outgoing = request(url, { method, agent, headers, signal }, resolve)
  // An address that no host has any more swallows packets and never answers.
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) return
    const late = setTimeout(() => outgoing.destroy(new ConnectTimeout()), connectTimeoutMs)
    socket.once('connect', () => clearTimeout(late)).once('close', () => clearTimeout(late))
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    if (signal.aborted) reject(signal.reason as Error)
    else if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve(null)
    else reject(lost(endpoint, error))
  })
  const last = payload.at(-1) ?? ''
  for (const piece of payload.slice(0, -1)) outgoing.write(piece)
  // As text, so that Node writes head and body at once.
  outgoing.end(last)
  return promise
}

const connectTimeoutMs = 3000

class ConnectTimeout extends Error {
  readonly code = 'ETIMEDOUT'
  override message = `no connection within ${connectTimeoutMs / 1000} s`
}

const neverReached = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT']

function lost(endpoint: Endpoint, error: unknown): EngineLost {
  const { code, message } = error as NodeJS.ErrnoException
  const wasReached = !neverReached.includes(code ?? '')
  return new EngineLost(`The model server of ${endpoint.baseModel} is gone: ${message}`, wasReached, { cause: error })
}
