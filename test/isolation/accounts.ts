// Accounts and their keys, made through the operator's admin API, and a client that reports every outcome as an answer.
import assert from 'node:assert/strict'
import type { Scope } from '../../src/domain/scopes.ts'
import type { Connection } from '../../src/embedded/connection.ts'

/** `status` 0: no answer came. `code` then says why: `given_up` by the caller's signal, `timed_out`, or `no_answer`. */
export type Answer = {
  status: number
  code: string | null
  detail: string | null
  retryAfterSeconds: number | null
  body: unknown
}

export type Ask = (method: string, path: string, body?: unknown, signal?: AbortSignal) => Promise<Answer>
export type Account = { id: string; apiKey: string; ask: Ask }

const scopes: Scope[] = ['inference', 'training', 'data', 'read']
const timeoutMs = 300_000

export async function openAccount(connection: Connection, name: string): Promise<Account> {
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

export function createAsk(apiUrl: string, apiKey: string): Ask {
  return async (method, path, body, signal = new AbortController().signal) => {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await fetch(apiUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.any([signal, timeout]),
      })
      return readAnswer(response.status, response.headers.get('retry-after'), await response.text())
    } catch (error) {
      if (signal.aborted) return noAnswer('given_up')
      if (timeout.aborted) return noAnswer('timed_out')
      return noAnswer('no_answer', String((error as Error).cause ?? error))
    }
  }
}

export function readAnswer(status: number, retryAfter: string | null, text: string): Answer {
  const body = text === '' ? null : (JSON.parse(text) as unknown)
  const { code = null, detail = null } = status < 400 ? {} : ((body ?? {}) as { code?: string; detail?: string })
  return { status, code, detail, retryAfterSeconds: retryAfter === null ? null : Number(retryAfter), body }
}

export const noAnswer = (code: string, detail: string | null = null): Answer => ({
  ...{ status: 0, code, detail, retryAfterSeconds: null, body: null },
})
