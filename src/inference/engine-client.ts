// vLLM's OpenAI routes and our agent's, over kept-alive connections (docs/internal-api.md, "Model server").
// node:http, because fetch gives up on an answer after five minutes and a long batch may take longer.
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { text as readText } from 'node:stream/consumers'

/** A replica that is ready, and the key to it. */
export type Endpoint = { baseModel: string; generation: number; instance: string; url: string; token: string }

export type AdapterFile = { name: string; url: string; sizeBytes: number; sha256: string }
export type Choice = { index: number; text: string; finishReason: string }

export type CompletionRequest = {
  model: string
  prompts: readonly string[]
  regex: string | null
  maxTokens: number
  temperature: number
  topP: number
  seed: number | null
  stop: readonly string[]
}

/** No answer, or none from the server that was meant: another try may reach its successor. */
export class EngineLost extends Error {
  /** It had taken the request: if that ends servers again and again, the request may be why. */
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
  /** Position in the request's list of what is refused. */
  readonly index: number | null

  constructor(status: number, message: string, param: string | null, index: number | null) {
    super(message)
    this.name = 'EngineRefusal'
    this.status = status
    this.param = param
    this.index = index
  }
}

/** @returns one choice a prompt, in order. All throw EngineLost, EngineRefusal, or the signal's reason. */
export async function requestCompletions(
  endpoint: Endpoint,
  { model, prompts, regex, maxTokens, temperature, topP, seed, stop }: CompletionRequest,
  signal: AbortSignal,
): Promise<Choice[]> {
  const answer = await send(endpoint, 'POST', '/v1/completions', signal, {
    model,
    prompt: prompts,
    max_tokens: maxTokens,
    temperature,
    top_p: topP,
    ...(seed !== null && { seed }),
    ...(stop.length > 0 && { stop }),
    ...(regex !== null && { structured_outputs: { regex } }),
  })
  const { choices } = answer as { choices: { index: number; text: string; finish_reason: string }[] }
  const inOrder = inOrderOf(choices, prompts.length)
  return inOrder.map(({ index, text, finish_reason }) => ({ index, text, finishReason: finish_reason }))
}

/** @returns one finite vector a text, in order */
export async function requestEmbeddings(
  endpoint: Endpoint,
  { model, texts }: { model: string; texts: readonly string[] },
  signal: AbortSignal,
): Promise<number[][]> {
  const answer = await send(endpoint, 'POST', '/v1/embeddings', signal, { model, input: texts })
  const { data } = answer as { data: { index: number; embedding: number[] }[] }
  const vectors = inOrderOf(data, texts.length).map(({ embedding }) => embedding)
  // JSON has no NaN: one would be null here.
  if (!vectors.every((vector) => vector.length > 0 && vector.every(Number.isFinite)))
    throw new Error(`The engine of ${model} gave a vector with something that is not a number.`)
  return vectors
}

export async function countTokens(
  endpoint: Endpoint,
  { model, prompt }: { model: string; prompt: string },
  signal: AbortSignal,
): Promise<number> {
  const answer = await send(endpoint, 'POST', '/tokenize', signal, { model, prompt })
  return (answer as { count: number }).count
}

export async function putAdapter(endpoint: Endpoint, name: string, files: readonly AdapterFile[], signal: AbortSignal) {
  await send(endpoint, 'PUT', `/agent/v1/adapters/${encodeURIComponent(name)}`, signal, {
    files: files.map(({ name, url, sizeBytes, sha256 }) => ({ name, url, size: sizeBytes, sha256 })),
  })
}

function inOrderOf<T extends { index: number }>(items: readonly T[], count: number): T[] {
  const inOrder = Array.from<T | undefined>({ length: count })
  for (const item of items) inOrder[item.index] = item
  if (items.length !== count || !inOrder.every((item) => item !== undefined))
    throw new Error(`The engine gave ${items.length} answers to ${count} inputs.`)
  return inOrder
}

const agents = {
  'http:': { request: httpRequest, agent: new HttpAgent({ keepAlive: true, maxFreeSockets: 64 }) },
  'https:': { request: httpsRequest, agent: new HttpsAgent({ keepAlive: true, maxFreeSockets: 64 }) },
}

type Answer = { status: number; text: string }

async function send(endpoint: Endpoint, method: string, path: string, signal: AbortSignal, body: unknown) {
  const payload = Buffer.from(JSON.stringify(body))
  const { status, text } = await exchange(endpoint, method, path, signal, payload)
  const answer = parse(text, status)
  if (status === 200) return answer
  const { error } = answer as { error?: { message?: string; param?: string | null; index?: number } }
  const message = error?.message ?? `status ${status}`
  // 401: at this address another server answers by now. The others: it is loading, leaving, overrun, or cannot reach the store.
  if ([401, 429, 502, 503, 504].includes(status))
    throw new EngineLost(`The model server of ${endpoint.baseModel} answered: ${message}`, false)
  throw new EngineRefusal(status, message, error?.param ?? null, error?.index ?? null)
}

function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`The model server answered ${status} with something that is not JSON.`, { cause: error })
  }
}

/** A kept connection that the server had just closed is not a lost server: once more, on another one. */
async function exchange(
  endpoint: Endpoint,
  method: string,
  path: string,
  signal: AbortSignal,
  payload: Buffer,
): Promise<Answer> {
  for (;;) {
    const { answer, wasStale } = await exchangeOnce(endpoint, method, path, signal, payload)
    if (!wasStale) return answer
  }
}

function exchangeOnce(endpoint: Endpoint, method: string, path: string, signal: AbortSignal, payload: Buffer) {
  const { promise, resolve, reject } = Promise.withResolvers<
    { answer: Answer; wasStale: false } | { answer?: never; wasStale: true }
  >()
  const url = new URL(path, endpoint.url)
  const { request, agent } = agents[url.protocol as keyof typeof agents]
  const headers = {
    authorization: `Bearer ${endpoint.token}`,
    'content-type': 'application/json',
    'content-length': payload.length,
  }
  const outgoing = request(url, { method, agent, headers, signal }, (incoming: IncomingMessage) => {
    readText(incoming).then(
      (text) => resolve({ answer: { status: incoming.statusCode ?? 0, text }, wasStale: false }),
      (error: unknown) => reject(signal.aborted ? signal.reason : lost(endpoint, error)),
    )
  })
  // An address that nobody has any more takes the packets and never answers.
  outgoing.once('socket', (socket) => {
    if (!socket.connecting) return
    const late = setTimeout(() => outgoing.destroy(new ConnectTimeout()), connectTimeoutMs)
    socket.once('connect', () => clearTimeout(late)).once('close', () => clearTimeout(late))
  })
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    if (signal.aborted) reject(signal.reason as Error)
    else if (outgoing.reusedSocket && error.code === 'ECONNRESET') resolve({ wasStale: true })
    else reject(lost(endpoint, error))
  })
  outgoing.end(payload)
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
