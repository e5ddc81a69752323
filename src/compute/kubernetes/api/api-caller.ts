// One call of the Kubernetes API: paced, counted, and retried. Every call may be repeated: names are fixed, so a create
// whose answer was lost gets 409.
import { setTimeout as sleep } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { ComputeError } from '../../errors.ts'
import { ApiError, hasStatus } from './api-error.ts'
import type { Connection, HttpExchange } from './connection.ts'
import type { KubernetesObject } from './kubernetes-object.ts'
import type { RateLimiter } from './rate-limiter.ts'

type ApiCall = {
  method: HttpExchange['method']
  path: string
  query?: Record<string, string | number | undefined>
  body?: unknown
  /** The content type of a PATCH. */
  patchType?: 'application/merge-patch+json'
  signal?: AbortSignal | undefined
}

/** `status` 0: no answer came. */
export type CallRecord = { method: string; resource: string; status: number; durationMs: number }

export type ApiCaller = {
  /** @throws ApiError when the server refuses; ComputeError `unavailable` after ten seconds of other trouble */
  call(call: ApiCall): Promise<unknown>
  /** Null if there is no such object. @throws as `call` */
  find(path: string, signal?: AbortSignal): Promise<KubernetesObject | null>
  /** 409 counts as success: run names are never reused. @throws as `call` */
  createUnlessExists(path: string, body: object): Promise<void>
  /** False when the object was gone, or another object has its name. @throws as `call` */
  remove(path: string, body: object, signal?: AbortSignal): Promise<boolean>
  /** The answer's body as it comes; not retried. @throws ApiError, or what the connection throws */
  stream(call: ApiCall): Promise<IncomingMessage>
  /** How far the server's clock is ahead of ours. */
  clockAheadMs: () => number
  close: () => void
}

const maxTotalMs = 10_000
const maxTries = 8
const answerTimeoutMs = 10_000
const firstWaitMs = 100
const maxWaitMs = 2_000

export function createApiCaller(options: {
  connection: Connection
  limiter: RateLimiter
  onCall?: (call: CallRecord) => void
}): ApiCaller {
  let clockAheadMs = 0

  async function open(call: ApiCall, signal: AbortSignal): Promise<IncomingMessage> {
    await options.limiter.take(signal)
    const startedMs = performance.now()
    let status = 0
    try {
      const answer = await options.connection.send({ ...exchangeOf(call), signal })
      status = answer.statusCode ?? 0
      const served = Date.parse(answer.headers.date ?? '')
      // The header has whole seconds.
      if (!Number.isNaN(served)) clockAheadMs = served + 500 - Date.now()
      if (status >= 200 && status < 300) return answer
      throw new ApiError(status, await text(answer), answer.headers['retry-after'])
    } finally {
      const durationMs = performance.now() - startedMs
      options.onCall?.({ method: call.method, resource: resourceOf(call.path), status, durationMs })
    }
  }

  async function once(call: ApiCall): Promise<unknown> {
    const timeout = AbortSignal.timeout(answerTimeoutMs)
    const answer = await open(call, call.signal ? AbortSignal.any([call.signal, timeout]) : timeout)
    return JSON.parse(await text(answer))
  }

  async function call(request: ApiCall): Promise<unknown> {
    const startedMs = performance.now()
    for (let tries = 1; ; tries++) {
      try {
        return await once(request)
      } catch (error) {
        request.signal?.throwIfAborted()
        if (isPermanent(error)) throw error
        const waitMs = waitBefore(error, tries)
        if (tries >= maxTries || performance.now() - startedMs + waitMs > maxTotalMs) throw unavailable(error)
        await sleep(waitMs, undefined, request.signal && { signal: request.signal })
      }
    }
  }

  async function find(path: string, signal?: AbortSignal): Promise<KubernetesObject | null> {
    try {
      return (await call({ method: 'GET', path, signal })) as KubernetesObject
    } catch (error) {
      if (hasStatus(error, 404)) return null
      throw error
    }
  }

  async function createUnlessExists(path: string, body: object): Promise<void> {
    try {
      await call({ method: 'POST', path, body })
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
    }
  }

  async function remove(path: string, body: object, signal?: AbortSignal): Promise<boolean> {
    try {
      await call({ method: 'DELETE', path, body, signal })
      return true
    } catch (error) {
      if (hasStatus(error, 404, 409)) return false
      throw error
    }
  }

  const never = new AbortController().signal
  return {
    call,
    find,
    createUnlessExists,
    remove,
    stream: (request) => open(request, request.signal ?? never),
    clockAheadMs: () => clockAheadMs,
    close: () => options.connection.close(),
  }
}

/** A retry would get the same answer. */
function isPermanent(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 300 && error.status < 500 && !hasStatus(error, 401, 408, 429)
}

function waitBefore(error: unknown, tries: number): number {
  const asked = error instanceof ApiError ? error.retryAfterMs : null
  const ownMs = Math.min(firstWaitMs * 2 ** (tries - 1), maxWaitMs)
  return Math.max(asked ?? 0, ownMs / 2) + (Math.random() * ownMs) / 2
}

function unavailable(error: unknown): ComputeError {
  const detail = error instanceof Error ? error.message : String(error)
  return new ComputeError('unavailable', `The Kubernetes API server does not answer: ${detail}`, { cause: error })
}

function exchangeOf({ method, path, query, body, patchType }: ApiCall): Omit<HttpExchange, 'signal'> {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query ?? {})) if (value !== undefined) search.set(key, String(value))
  return {
    method,
    path: search.size > 0 ? `${path}?${search.toString()}` : path,
    ...(body !== undefined && { body: { type: patchType ?? 'application/json', text: JSON.stringify(body) } }),
  }
}

/** `pods`, `pods/log`, `jobs`: the label of metrics. */
function resourceOf(path: string): string {
  const [, kind = path, subresource] = /\/namespaces\/[^/]+\/([^/]+)(?:\/[^/]+(?:\/(\w+))?)?/.exec(path) ?? []
  return subresource ? `${kind}/${subresource}` : kind
}
