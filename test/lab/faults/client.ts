// Asks the public API. A missing answer is allowed, but a wrong one is a violation.
import { AssertionError } from 'node:assert'
import { createContract } from '../../support/contract.ts'

export type Client = Awaited<ReturnType<typeof createClient>>

type Request = { body?: unknown; idempotencyKey?: string; timeoutMs?: number }

/** @param onWrong is called with each answer that does not match the service's OpenAPI document */
export async function createClient(
  { apiUrl, apiKey }: { apiUrl: string; apiKey: string },
  onWrong: (what: string) => void,
) {
  const contract = createContract(await (await fetch(`${apiUrl}/openapi.json`)).json())

  /** Null if no complete answer arrived. */
  async function ask<T>(method: string, path: string, { body, idempotencyKey, timeoutMs = 15_000 }: Request = {}) {
    const response = await fetch(apiUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch(() => null)
    const answer = await response?.json().catch(() => undefined)
    if (!response || answer === undefined) return null
    const { status, headers } = response
    check(method, path, status, headers.get('content-type') ?? '', answer)
    if (status === 503 && !headers.has('retry-after')) onWrong(`${method} ${path} answered 503 without Retry-After`)
    return { status, body: answer as T }
  }

  function check(method: string, path: string, status: number, contentType: string, body: unknown) {
    try {
      contract({ method, path, status, contentType, body })
      if (status === 500) onWrong(`${method} ${path} answered 500: ${JSON.stringify(body)}`)
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error
      onWrong(error.message)
    }
  }

  return { ask }
}
