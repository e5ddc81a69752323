// The routes for an account's own keys and limits, on the real database.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { query } from '../embedded/support/stack-process.ts'
import { eventually } from '../support/eventually.ts'
import { createPythonGraders } from '../../src/grading/python/python-graders.ts'
import { createAdmin, createOperator, type Key } from '../support/operator.ts'
import { connection, createApi } from '../support/stack.ts'
import { startPublic } from './support.ts'
import { openDatabase } from '../support/sandbox.ts'

type Listed = { keys: (Key & { revoked_at: string | null })[]; next: string | null }

suite("an account's own keys", async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const owner = createApi((await account.makeKey(['admin', 'read'])).key)
  const other = await operator.openAccount()
  const foreign = await other.makeKey(['read'])
  const database = openDatabase(4)
  const make = (scopes: string[]) => owner.post<Key>('/v1/keys', { name: 'made', scopes })
  const listed = () => owner.get<Listed>('/v1/keys')

  test('a key is shown once, works, and is refused after it is revoked; each change is in the audit trail', async () => {
    const made = await make(['read'])
    const client = createApi(made.key)
    assert.equal((await client.request('GET', '/v1/models')).status, 200)
    assert.ok(!JSON.stringify(await listed()).includes(made.key.slice(21)))
    const rotated = await owner.post<Key>(`/v1/keys/${made.id}/rotate`, { overlap_seconds: 3600 })
    for (const { id } of [made, rotated]) assert.equal((await owner.request('DELETE', `/v1/keys/${id}`)).status, 200)
    await eventually(async () => (await client.request('GET', '/v1/models')).status === 401)
    const shown = (await listed()).keys.filter(({ id }) => id === made.id || id === rotated.id)
    assert.ok(shown.length === 2 && shown.every(({ revoked_at: at }) => at !== null))
    const { events } = await owner.get<{ events: { action: string; target: string }[] }>('/v1/audit')
    const changes = events.filter(({ action }) => action.startsWith('key.'))
    assert.deepEqual(
      changes.slice(0, 4).map(({ action }) => action),
      ['key.revoke', 'key.revoke', 'key.rotate', 'key.create'],
    )
  })

  test('a key gives no scope that it lacks, neither to a new key nor by a rotation', async () => {
    const strong = await account.makeKey(['training'])
    const refused = await owner.request('POST', '/v1/keys', { name: 'x', scopes: ['read', 'training'] })
    assert.equal(refused.status, 401)
    assert.match((refused.body as { detail: string }).detail, /"training"/)
    assert.equal((await owner.request('POST', `/v1/keys/${strong.id}/rotate`, {})).status, 401)
    const admin = createAdmin((await account.makeKey(['admin'])).key)
    assert.equal((await admin.request('POST', '/keys', { name: 'x', scopes: ['read'] })).status, 401)
  })

  test('a key of another account is answered as an unknown key, also as a cursor', async () => {
    const nobodys = 'e'.repeat(16)
    for (const id of [foreign.id, nobodys]) {
      assert.equal((await owner.request('DELETE', `/v1/keys/${id}`)).status, 404)
      assert.equal((await owner.request('POST', `/v1/keys/${id}/rotate`, {})).status, 404)
      assert.equal((await owner.request('GET', `/v1/keys?after=${id}`)).status, 400)
    }
    assert.ok((await listed()).keys.every(({ id }) => id !== foreign.id))
  })

  test('a revoked key takes its sessions of the console along', async () => {
    const { id, key } = await make(['read'])
    const opened = await fetch(`${connection().apiUrl}/v1/console/session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    })
    const { page_token: token } = (await opened.json()) as { page_token: string }
    const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
    const status = async () => {
      const headers = { cookie, 'x-console-token': token }
      return (await fetch(`${connection().apiUrl}/v1/models`, { headers })).status
    }
    assert.equal(await status(), 200)
    await owner.request('DELETE', `/v1/keys/${id}`)
    await eventually(async () => (await status()) === 401)
  })

  test('no more keys than the limit are valid, exactly, and a rotation without overlap needs no room', async () => {
    const full = await operator.openAccount()
    const { id, key } = await full.makeKey(['admin', 'read'])
    // More than the stack's limit would take many requests, so fewer keys stay free.
    await query(
      connection().databaseUrl,
      `insert into api_keys (id, account_id, name, secret_hash, scopes)
       select lpad(to_hex(n + ${Number.parseInt(id.slice(0, 6), 16)}), 16, 'f'), '${full.id}', 'filler', '\\x00', '{}' from generate_series(1, 97) n`,
    )
    const api = createApi(key)
    const asked = await Promise.all(
      Array.from({ length: 6 }, () => api.request('POST', '/v1/keys', { name: 'one more', scopes: [] })),
    )
    const statuses = asked.map(({ status }) => status).toSorted((a, b) => a - b)
    assert.deepEqual(statuses, [200, 200, 409, 409, 409, 409])
    const { limits } = await api.get<{ limits: { name: string; used: number; left: number }[] }>('/v1/limits')
    assert.deepEqual(
      limits.filter(({ name }) => name === 'live_keys').map(({ used, left }) => [used, left]),
      [[100, 0]],
    )
    const accepted = asked.find(({ status }) => status === 200) ?? assert.fail('none was accepted')
    const { id: made } = accepted.body as Key
    assert.equal((await api.request('POST', `/v1/keys/${made}/rotate`, {})).status, 409)
    assert.equal((await api.request('POST', `/v1/keys/${made}/rotate`, { overlap_seconds: 0 })).status, 200)
  })

  test('the limits tell the used and remaining amounts', async () => {
    const programsOf = () => Promise.resolve({ limit: 2, used: 1, where: 'process' as const })
    const python = createPythonGraders({ sandbox: { use: () => assert.fail('nothing is graded'), programsOf } })
    const edge = await startPublic({
      database: { ...database },
      limits: {
        settings: { requests: { perSecond: 7, burst: 9 }, concurrentRequests: 5 },
        judgeTokens: { perDay: 1000, usedBy: () => Promise.resolve({ used: 3 }) },
      },
      grading: { python },
    })
    const { key } = await other.makeKey(['read', 'admin'])
    const { status, json } = await edge.call('GET', '/v1/limits', { key })
    assert.equal(status, 200)
    assert.deepEqual(json.requests, { per_second: 7, burst: 9, running: 5 })
    for (const { name, limit, used, left } of json.limits) assert.equal(left, Math.max(0, limit - used), name)
    const usedOf = (quota: string) => json.limits.find(({ name }: { name: string }) => name === quota)?.used
    assert.deepEqual([usedOf('live_keys'), usedOf('judge_tokens'), usedOf('python_graders')], [2, 3, 1])
  })
})
