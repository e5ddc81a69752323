// Accounts and keys, on the real database: what a key may do, and from when on it may not.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { makeApiKey } from '../../src/domain/identifiers.ts'
import { scopes, type Scope } from '../../src/domain/scopes.ts'
import { query } from '../embedded/support/stack-process.ts'
import { startPublic } from '../http/support.ts'
import { createAdmin, createOperator, type Key } from '../support/operator.ts'
import { connection } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'
import { openDatabase } from '../support/sandbox.ts'

suite('accounts and keys', async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const database = openDatabase(4)
  const call = async (method: string, path: string, key: string | null) => {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch(connection().apiUrl + path, { method, headers })
    const body = (await response.json()) as { detail: string; error?: { message: string } }
    return { status: response.status, body, says: body.error?.message ?? body.detail }
  }

  test('no route takes no key, an unknown, an expired or a revoked key, or one without its scope', async (t) => {
    const document = (await (await fetch(`${connection().apiUrl}/openapi.json`)).json()) as Document
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { 'x-scope': scope }]) => ({ path, method, scope })),
    )
    const guarded = routes.filter(({ scope }) => scope !== undefined)
    assert.ok(guarded.length > 20)
    const expired = await account.makeKey([...scopes])
    await query(connection().databaseUrl, `update api_keys set expires_at = now() where id = '${expired.id}'`)
    const revoked = await account.makeKey([...scopes])
    await operator.post(`/keys/${revoked.id}/revoke`)
    const without = Object.fromEntries(
      await Promise.all(
        scopes.map(async (scope) => [scope, await account.makeKey(scopes.filter((each) => each !== scope))] as const),
      ),
    ) as Record<Scope, Key>
    const [powerless, wrongSecret] = [await account.makeKey([]), `${revoked.key.slice(0, 21)}${'A'.repeat(43)}`]
    let count = 0
    for (const { path, method, scope } of guarded) {
      assert.ok(scope !== undefined)
      const callers = {
        'no key': null,
        'an unknown key': makeApiKey(),
        'a wrong secret': wrongSecret,
        'an expired key': expired.key,
        'a revoked key': revoked.key,
        'a key without any scope': powerless.key,
        'a key with all other scopes': without[scope].key,
      }
      const at = path.replaceAll(/\{job_id\}/g, '1').replaceAll(/\{\w+\}/g, randomUUID())
      for (const [who, key] of Object.entries(callers)) {
        const { status, says } = await call(method.toUpperCase(), at, key)
        assert.equal(status, 401, `${method} ${path} with ${who} answers ${status}`)
        assert.match(says, /invalid token/)
        if (/scope/.test(who)) assert.match(says, new RegExp(`"${scope}"`))
        count++
      }
    }
    t.diagnostic(`${guarded.length} routes, ${count} refusals`)
  })

  test('a key is shown once; its list says when it was last used, to the minute', async () => {
    const made = await account.makeKey(['read'])
    const listed = async () => {
      const { keys } = await operator.get<{ keys: Key[] }>(`/keys?account_id=${account.id}`)
      return keys.find(({ id }) => id === made.id)
    }
    assert.equal((await listed())?.last_used_at, null)
    assert.equal((await call('GET', '/v1/models', made.key)).status, 200)
    const used = await eventually(async () => (await listed())?.last_used_at)
    assert.match(used, /:00\.000000$/)
    assert.ok(Math.abs(Date.parse(`${used}Z`) - Date.now()) < 90_000)
    assert.ok(!JSON.stringify(await listed()).includes(made.key.slice(21)))
  })

  test('a revoked key is refused by every replica soon', async () => {
    const replicas = await Promise.all([
      startPublic({ database: { ...database } }),
      startPublic({ database: { ...database } }),
    ])
    const { id, key } = await account.makeKey(['read'])
    const statuses = () => Promise.all(replicas.map((each) => each.call('GET', '/v1/models', { key })))
    const all = async (status: number) => (await statuses()).every((answer) => answer.status === status)
    assert.ok(await all(200))
    await operator.post(`/keys/${id}/revoke`)
    await eventually(() => all(401))
  })

  test('after a rotation both keys hold for the overlap, then only the new one', async () => {
    const old = await account.makeKey(['read'])
    const made = await operator.post<Key & { old_expires_at: string }>(`/keys/${old.id}/rotate`, {
      overlap_seconds: 3600,
    })
    assert.deepEqual([made.scopes, made.name, made.account_id], [old.scopes, old.name, account.id])
    for (const { key } of [old, made]) assert.equal((await call('GET', '/v1/models', key)).status, 200)
    const newest = await operator.post<Key>(`/keys/${made.id}/rotate`, { overlap_seconds: 1 })
    await eventually(async () => (await call('GET', '/v1/models', made.key)).status === 401)
    assert.equal((await call('GET', '/v1/models', newest.key)).status, 200)
    assert.equal((await operator.request('POST', `/keys/${made.id}/rotate`, {})).status, 409)
  })

  test('a key with the scope admin governs its own account only, and only on the admin port', async () => {
    const other = await operator.openAccount()
    const foreign = await other.makeKey(['read'])
    const admin = createAdmin((await account.makeKey(['admin', 'read'])).key)
    const made = await admin.post<Key>('/keys', { name: 'by admin', scopes: ['read'] })
    assert.equal(made.account_id, account.id)
    assert.equal((await admin.request('POST', '/keys', { account_id: other.id, name: 'x', scopes: [] })).status, 404)
    for (const verb of ['revoke', 'rotate'])
      assert.equal((await admin.request('POST', `/keys/${foreign.id}/${verb}`, {})).status, 404)
    assert.equal((await admin.request('GET', `/keys?account_id=${other.id}`)).status, 404)
    const { accounts } = await admin.get<{ accounts: { id: string }[] }>('/accounts')
    assert.deepEqual(
      accounts.map(({ id }) => id),
      [account.id],
    )
    assert.equal((await admin.request('POST', '/accounts', { name: 'mine' })).status, 401)
    assert.equal((await admin.request('DELETE', `/accounts/${account.id}`)).status, 401)
    assert.equal((await createAdmin(foreign.key).request('GET', '/keys')).status, 401)
    assert.equal((await call('GET', '/internal/v1/admin/keys', connection().operatorToken)).status, 404)
  })

  test('refuses a bad name, scope, time or id', async () => {
    const wrong = [
      { account_id: account.id, scopes: ['read'] },
      { account_id: account.id, name: '', scopes: ['read'] },
      { account_id: account.id, name: 'x', scopes: ['root'] },
      { account_id: account.id, name: 'x', scopes: ['read'], expires_at: 'tomorrow' },
      { account_id: account.id, name: 'x', scopes: ['read'], expires_at: '2020-01-01T00:00:00Z' },
      { name: 'x', scopes: ['read'] },
    ]
    for (const body of wrong) assert.equal((await operator.request('POST', '/keys', body)).status, 400)
    const unknown = { account_id: randomUUID(), name: 'x', scopes: [] }
    assert.equal((await operator.request('POST', '/keys', unknown)).status, 404)
    assert.equal((await operator.request('POST', `/keys/${randomBytes(8).toString('hex')}/revoke`)).status, 404)
    assert.equal((await operator.request('GET', '/accounts?limit=0')).status, 400)
    const urgent = { priority: 'urgent' }
    assert.equal((await operator.request('POST', '/accounts', { name: 'x', ...urgent })).status, 400)
    assert.equal((await operator.request('POST', `/accounts/${account.id}/priority`, urgent)).status, 400)
    const nobody = `/accounts/${randomUUID()}/priority`
    assert.equal((await operator.request('POST', nobody, { priority: 'low' })).status, 404)
  })

  test("an account's priority is the operator's to set", async () => {
    type Account = { id: string; priority: string }
    const high = await operator.post<Account>('/accounts', { name: 'x', priority: 'high' })
    assert.equal(high.priority, 'high')
    const path = `/accounts/${account.id}/priority`
    assert.equal((await operator.post<Account>(path, { priority: 'low' })).priority, 'low')
    const admin = createAdmin((await account.makeKey(['admin'])).key)
    assert.equal((await admin.request('POST', path, { priority: 'high' })).status, 401)
    const { accounts } = await admin.get<{ accounts: Account[] }>('/accounts')
    assert.equal(accounts[0]?.priority, 'low')
  })

  test('lists are paged', async () => {
    const seen: string[] = []
    let after = ''
    do {
      const page = await operator.get<{ keys: Key[]; next: string | null }>(
        `/keys?account_id=${account.id}&limit=3${after && `&after=${after}`}`,
      )
      seen.push(...page.keys.map(({ id }) => id))
      after = page.next ?? ''
    } while (after)
    const { keys } = await operator.get<{ keys: Key[] }>(`/keys?account_id=${account.id}`)
    assert.deepEqual(
      seen,
      keys.map(({ id }) => id),
    )
  })
})

type Document = { paths: Record<string, Record<string, { 'x-scope'?: Scope }>> }
