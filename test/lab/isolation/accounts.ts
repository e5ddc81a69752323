// Accounts and their keys, made through the operator's admin API, and a client that reports every outcome as an answer.
import assert from 'node:assert/strict'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import type { Scope } from '../../../src/domain/scopes.ts'
import type { Connection } from '../../../src/embedded/connection.ts'

/** `status` 0: no answer came. `code` then says why: `given_up` by the caller's signal, `timed_out`, or `no_answer`. */
export type Answer = {
  status: number
  code: string | null
  detail: string | null
  retryAfterSeconds: number | null
  body: unknown
}

/** A Buffer is sent as it is; any other body becomes JSON. */
export type Ask = (method: string, path: string, body?: unknown, signal?: AbortSignal) => Promise<Answer>
export type Account = { id: string; apiKey: string; ask: Ask }

const ordinaryScopes: Scope[] = ['inference', 'training', 'data', 'read']
/** A connection that is silent for so long is given up. */
const timeoutMs = 300_000

export async function openAccount(
  connection: Connection,
  name: string,
  scopes: readonly Scope[] = ordinaryScopes,
): Promise<Account> {
  const { id } = await administer<{ id: string }>(connection, '/accounts', { name })
  const { key } = await administer<{ key: string }>(connection, '/keys', { account_id: id, name, scopes })
  return { id, apiKey: key, ask: createAsk(connection.apiUrl, key) }
}

async function administer<T>({ adminUrl, operatorToken }: Connection, path: string, body: object): Promise<T> {
  const response = await fetch(`${adminUrl}/internal/v1/admin${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  assert.equal(response.status, 200, `POST ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text) as T
}

/** `fetch` would take twice as much of the processor, which the service needs. */
const agent = new Agent({ keepAlive: true, maxFreeSockets: 256 })

export function createAsk(apiUrl: string, apiKey: string): Ask {
  return async (method, path, body, signal) => {
    const payload = body === undefined || Buffer.isBuffer(body) ? body : jsonOf(body)
    const headers = {
      authorization: `Bearer ${apiKey}`,
      ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
    }
    for (;;) {
      const answer = await askOnce(new URL(path, apiUrl), { method, headers, payload, signal })
      if (answer) return answer
    }
  }
}

export const jsonOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

type Outgoing = {
  method: string
  headers: Record<string, string | number>
  payload: Buffer | undefined
  signal: AbortSignal | undefined
}

/** @returns null when the service had closed the kept connection already */
async function askOnce(url: URL, { method, headers, payload, signal }: Outgoing): Promise<Answer | null> {
  if (signal?.aborted) return noAnswer('given_up')
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = httpRequest(url, { method, agent, headers, timeout: timeoutMs }, resolve)
  const leave = () => outgoing.destroy()
  signal?.addEventListener('abort', leave)
  let isLate = false
  outgoing.on('timeout', () => {
    isLate = true
    leave()
  })
  outgoing.on('error', reject)
  outgoing.end(payload)
  try {
    const incoming = await promise
    return readAnswer(incoming.statusCode ?? 0, incoming.headers['retry-after'] ?? null, await readText(incoming))
  } catch (error) {
    if (signal?.aborted) return noAnswer('given_up')
    if (isLate) return noAnswer('timed_out')
    const isStale = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
    return isStale ? null : noAnswer('no_answer', String(error))
  } finally {
    signal?.removeEventListener('abort', leave)
  }
}

export function readAnswer(status: number, retryAfter: string | null, text: string): Answer {
  const body = text === '' ? null : (JSON.parse(text) as unknown)
  const refused = (status < 400 ? {} : (body ?? {})) as { code?: string; detail?: string; error?: { message?: string } }
  // OpenAI's routes write their sentence as `error.message`.
  const { code = null, detail = refused.error?.message ?? null } = refused
  return { status, code, detail, retryAfterSeconds: retryAfter === null ? null : Number(retryAfter), body }
}

export const noAnswer = (code: string, detail: string | null = null): Answer => ({
  ...{ status: 0, code, detail, retryAfterSeconds: null, body: null },
})
