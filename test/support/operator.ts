// The admin routes of the running stack, as the operator or as the key of an account.
import assert from 'node:assert/strict'
import type { Scope } from '../../src/domain/scopes.ts'
import { connection } from './stack.ts'

export type Key = {
  id: string
  account_id: string
  name: string
  scopes: Scope[]
  expires_at: string | null
  last_used_at: string | null
  key: string
}

export function createAdmin(token: string) {
  async function request<T>(method: string, path: string, body?: unknown) {
    const response = await fetch(`${connection().adminUrl}/internal/v1/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as T }
  }
  async function ok<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, body: answer } = await request<T>(method, path, body)
    assert.equal(status, 200, `${method} ${path} answered ${status}: ${JSON.stringify(answer)}`)
    return answer
  }
  return {
    request,
    get: <T>(path: string) => ok<T>('GET', path),
    post: <T>(path: string, body?: unknown) => ok<T>('POST', path, body),
    delete: <T>(path: string) => ok<T>('DELETE', path),
  }
}

export function createOperator() {
  const admin = createAdmin(connection().operatorToken)
  return {
    ...admin,
    async openAccount() {
      const { id } = await admin.post<{ id: string }>('/accounts', { name: 'test' })
      const makeKey = (scopes: Scope[], more: Record<string, unknown> = {}) =>
        admin.post<Key>('/keys', { account_id: id, name: 'test', scopes, ...more })
      return { id, makeKey }
    },
  }
}
