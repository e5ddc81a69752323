// Keys that a key, or a session of the console, makes: how long they last, who made them, and how they are revoked.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { parseApiKey, makeApiKey, sha256 } from '../../../src/domain/identifiers.ts'
import type { Scope } from '../../../src/domain/scopes.ts'
import { createApiKey, revokeApiKey, rotateApiKey } from '../../../src/services/admin/api-keys.ts'
import type { AdminCtx, MadeKeyEnd } from '../../../src/services/context.ts'
import { anAccount } from '../../support/job-rows.ts'
import { openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

const hourMs = 3_600_000
const begun = Math.floor(Date.now() / 1000) * 1000
const inHours = (hours: number) => new Date(begun + hours * hourMs)

suite('keys that a key or a session makes', async () => {
  const database = openDatabase()
  const owner = await anAccount(database)
  const caller = (apiKeyId: string, { ends = 'maker', sessionId }: { ends?: MadeKeyEnd; sessionId?: string } = {}) =>
    contextOf<AdminCtx>({
      deps: { database, settings: { maxLiveKeys: 100, madeKeysEndWith: ends } },
      accountId: apiKeyId === 'operator' ? null : owner,
      apiKeyId,
      origin: { requestId: 'test', address: '::1' },
      ...(sessionId !== undefined && { sessionId }),
    })

  async function aKey(expiresAt: Date | null) {
    const { id, secretHash } = parseApiKey(makeApiKey()) ?? assert.fail()
    const scopes: Scope[] = ['read', 'admin']
    await database.apiKeys.create({ id, secretHash, accountId: owner, name: 'maker', scopes, expiresAt })
    return id
  }
  async function aSession(apiKeyId: string, hours: number) {
    const secrets = { cookieHash: sha256(randomUUID()), pageTokenHash: sha256(randomUUID()) }
    return (await database.consoleSessions.add({ accountId: owner, apiKeyId }, secrets, hours * 3600)).id
  }
  async function make(admin: AdminCtx, expiresAt: Date | null = null) {
    const input = { accountId: owner, name: 'made', scopes: ['admin'] as Scope[], expiresAt }
    return (await createApiKey({ admin, input })).apiKey
  }
  const isLive = async (id: string) => (await database.accounts.findLiveApiKey(id)) !== null

  test('end with the key that made them, and no later end is taken', async () => {
    const [end, sooner] = [inHours(10), inHours(2)]
    const by = caller(await aKey(end))
    assert.deepEqual((await make(by)).expiresAt, end)
    assert.deepEqual((await make(by, sooner)).expiresAt, sooner)
    await assert.rejects(make(by, inHours(11)), {
      code: 'invalid_input',
      message: /UTC or earlier, because your own key/,
    })
    assert.equal((await make(caller(await aKey(null)))).expiresAt, null, 'a key without an end sets none')
  })

  test('end with the session that made them, or sooner with its key', async () => {
    const id = await aKey(null)
    const sessionId = await aSession(id, 12)
    const bySession = caller(id, { sessionId })
    const { expiresAt, makerKeyId, makerSessionId } = await make(bySession)
    assert.deepEqual(expiresAt, await database.consoleSessions.endOf(sessionId))
    assert.deepEqual([makerKeyId, makerSessionId], [id, sessionId])
    await assert.rejects(make(bySession, inHours(13)), {
      code: 'invalid_input',
      message: /your session of the console/,
    })
    const short = await aKey(inHours(1))
    assert.deepEqual((await make(caller(short, { sessionId: await aSession(short, 12) }))).expiresAt, inHours(1))
  })

  test('may last longer when the operator says so, or makes them', async () => {
    const id = await aKey(inHours(24))
    const sessionId = await aSession(id, 12)
    assert.deepEqual((await make(caller(id, { ends: 'key', sessionId }))).expiresAt, inHours(24))
    await assert.rejects(make(caller(id, { ends: 'key', sessionId }), inHours(25)), { code: 'invalid_input' })
    assert.equal((await make(caller(id, { ends: 'nothing', sessionId }))).expiresAt, null)
    const { expiresAt, makerKeyId } = await make(caller('operator'))
    assert.deepEqual([expiresAt, makerKeyId], [null, null])
  })

  test('a rotation makes no key that outlives the key that asks for the rotation', async () => {
    const lasting = await aKey(null)
    const by = caller(await aKey(inHours(1)))
    const rotate = (admin: AdminCtx, id: string) => rotateApiKey({ admin, input: { id, overlapSeconds: 0 } })
    await assert.rejects(rotate(by, lasting), { code: 'conflict', message: /UTC or earlier/ })
    assert.ok(await isLive(lasting), 'the refused rotation changed nothing')
    const { apiKey } = await rotate(caller(lasting), lasting)
    assert.deepEqual([apiKey.expiresAt, apiKey.makerKeyId], [null, lasting])
  })

  test('are made by no key that was revoked, and by no session that has ended', async () => {
    const id = await aKey(null)
    await assert.rejects(make(caller(id, { sessionId: await aSession(id, 0) })), { code: 'invalid_token' })
    await database.apiKeys.revoke(id, new Date())
    await assert.rejects(make(caller(id, { ends: 'nothing' })), { code: 'invalid_token' })
  })

  test('are revoked with their maker when asked, over every generation, each in the audit trail', async () => {
    const root = await aKey(null)
    const child = await make(caller(root))
    const grandchild = await make(caller(child.id))
    const stranger = await make(caller('operator'))
    const revoke = (id: string, descendants: boolean) =>
      revokeApiKey({ admin: caller('operator'), input: { id, descendants } })
    const alone = await revoke(child.id, false)
    assert.deepEqual([alone.alsoRevoked, alone.stillValid], [[], [grandchild.id]])
    assert.ok(await isLive(grandchild.id))
    const { apiKey, alsoRevoked, stillValid } = await revoke(root, true)
    assert.ok(apiKey.revokedAt)
    assert.deepEqual([alsoRevoked, stillValid], [[grandchild.id], []], 'also over a key that was revoked before')
    assert.deepEqual(await Promise.all([root, child.id, grandchild.id, stranger.id].map(isLive)), [
      false,
      false,
      false,
      true,
    ])
    const trail = await database.auditEvents.list(owner, { before: null, limit: 10 })
    const revoked = trail.filter(({ action }) => action === 'key.revoke').map(({ target }) => target)
    assert.deepEqual(revoked, [grandchild.id, root, child.id])
    assert.deepEqual((await revoke(root, true)).alsoRevoked, [], 'a repeat changes nothing')
  })

  test('a key that is being revoked with its descendants makes no key', async () => {
    const root = await aKey(null)
    const makes = Array.from({ length: 8 }, () => make(caller(root)).catch(() => null))
    const revoked = revokeApiKey({ admin: caller('operator'), input: { id: root, descendants: true } })
    const made = (await Promise.all(makes)).flatMap((key) => (key ? [key.id] : []))
    await revoked
    for (const id of made) assert.equal(await isLive(id), false)
  })
})
