// Sessions of the console on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { makeApiKey, parseApiKey, sha256 } from '../../src/domain/identifiers.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('sessions of the console', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)
  const hour = 3600

  async function aKey(tx: Repositories) {
    const accountId = await anAccount(tx)
    const { id, secretHash } = parseApiKey(makeApiKey()) ?? assert.fail()
    await tx.apiKeys.create({ id, secretHash, accountId, name: 'test', scopes: ['read'], expiresAt: null })
    return { accountId, apiKeyId: id }
  }

  const secrets = () => ({ cookieHash: sha256(randomUUID()), pageTokenHash: sha256(randomUUID()) })

  test('a session is found until it expires, and acts for its key', () =>
    sandbox(async (tx) => {
      const owner = await aKey(tx)
      const [live, expired] = [secrets(), secrets()]
      const { id } = await tx.consoleSessions.add(owner, live, hour)
      const { id: expiredId } = await tx.consoleSessions.add(owner, expired, 0)
      const found = await tx.consoleSessions.findLive(live.cookieHash)
      assert.deepEqual(
        [found?.sessionId, found?.key.id, found?.key.accountId, found?.key.scopes],
        [id, owner.apiKeyId, owner.accountId, ['read']],
      )
      assert.deepEqual(Buffer.from(found?.pageTokenHash ?? []), live.pageTokenHash)
      assert.equal(await tx.consoleSessions.findLive(expired.cookieHash), null)
      const areLive = () => Promise.all([id, expiredId].map((each) => tx.consoleSessions.isLive(each)))
      assert.deepEqual(await areLive(), [true, false])
      await tx.consoleSessions.end({ ...owner, id })
      assert.deepEqual(await areLive(), [false, false])
    }))

  test('a session ends with its key, revoked or expired', () =>
    sandbox(async (tx) => {
      for (const end of ['revoke', 'expire'] as const) {
        const owner = await aKey(tx)
        const session = secrets()
        await tx.consoleSessions.add(owner, session, hour)
        await tx.apiKeys[end](owner.apiKeyId, new Date(0))
        assert.equal(await tx.consoleSessions.findLive(session.cookieHash), null, end)
      }
    }))

  test('a link opens one session, while it and its key live', () =>
    sandbox(async (tx) => {
      const owner = await aKey(tx)
      const [link, late, revoked] = [sha256('a link'), sha256('a late link'), sha256('of a revoked key')]
      const { id } = await tx.consoleSessions.addLink(owner, link, 60)
      await tx.consoleSessions.addLink(owner, late, 0)
      const session = secrets()
      const opened = await tx.consoleSessions.openLink(link, session, hour)
      assert.deepEqual([opened?.id, opened?.apiKeyId, opened?.scopes], [id, owner.apiKeyId, ['read']])
      assert.equal((await tx.consoleSessions.findLive(session.cookieHash))?.sessionId, id)
      assert.equal(await tx.consoleSessions.openLink(link, secrets(), hour), null)
      assert.equal(await tx.consoleSessions.openLink(late, secrets(), hour), null)
      await tx.consoleSessions.addLink(owner, revoked, 60)
      await tx.apiKeys.revoke(owner.apiKeyId, new Date())
      assert.equal(await tx.consoleSessions.openLink(revoked, secrets(), hour), null)
    }))

  test('a link that is shown says what it opens, and waits five minutes for an answer instead of one', () =>
    sandbox(async (tx) => {
      const owner = await aKey(tx)
      const [link, late, revoked] = [sha256('shown'), sha256('shown late'), sha256('shown and revoked')]
      const { expiresAt } = await tx.consoleSessions.addLink(owner, link, 60)
      const shown = (await tx.consoleSessions.showLink(link, 300)) ?? assert.fail()
      assert.deepEqual(
        [shown.accountId, shown.accountName, shown.apiKeyId, shown.keyName, shown.scopes],
        [owner.accountId, 'rows', owner.apiKeyId, 'test', ['read']],
      )
      assert.equal(shown.expiresAt.getTime() - expiresAt.getTime(), 240_000)
      assert.deepEqual(
        (await tx.consoleSessions.showLink(link, 300))?.expiresAt,
        shown.expiresAt,
        'no second time longer',
      )
      await tx.consoleSessions.addLink(owner, late, 0)
      assert.equal(await tx.consoleSessions.showLink(late, 300), null)
      const session = secrets()
      await tx.consoleSessions.openLink(link, session, hour)
      assert.equal(await tx.consoleSessions.showLink(link, 300), null)
      await tx.consoleSessions.addLink(owner, revoked, 60)
      await tx.apiKeys.revoke(owner.apiKeyId, new Date())
      assert.equal(await tx.consoleSessions.showLink(revoked, 300), null)
    }))

  test('an account ends its own sessions only', () =>
    sandbox(async (tx) => {
      const [owner, stranger] = [await aKey(tx), await aKey(tx)]
      const session = secrets()
      const { id } = await tx.consoleSessions.add(owner, session, hour)
      assert.equal(await tx.consoleSessions.end({ ...stranger, id }), false)
      assert.equal(await tx.consoleSessions.end({ ...owner, id }), true)
      assert.equal(await tx.consoleSessions.end({ ...owner, id }), false)
    }))

  test('beyond the limit of an account its oldest sessions go, and no others', () =>
    sandbox(async (tx) => {
      const [owner, other] = [await aKey(tx), await aKey(tx)]
      const kept = secrets()
      await tx.consoleSessions.add(other, kept, hour)
      const all = [secrets(), secrets(), secrets()]
      for (const each of all) await tx.consoleSessions.add(owner, each, hour)
      await tx.consoleSessions.keepNewest(owner.accountId, 2)
      const left = await Promise.all(all.map(({ cookieHash }) => tx.consoleSessions.findLive(cookieHash)))
      assert.equal(left.filter(Boolean).length, 2)
      assert.ok(await tx.consoleSessions.findLive(kept.cookieHash))
    }))

  test('expired sessions are removed, and all of an account with it', () =>
    sandbox(async (tx) => {
      const owner = await aKey(tx)
      const [live, expired] = [secrets(), secrets()]
      await tx.consoleSessions.add(owner, live, hour)
      const { id } = await tx.consoleSessions.add(owner, expired, 0)
      const { id: liveId } = (await tx.consoleSessions.add(owner, secrets(), hour)) ?? assert.fail()
      await tx.retention.deleteOld('console_sessions', new Date(Date.now() + 60_000), 100_000)
      assert.equal(await tx.consoleSessions.end({ ...owner, id }), false)
      assert.ok(await tx.consoleSessions.findLive(live.cookieHash))
      await tx.accountData.deleteAccount(owner.accountId)
      assert.equal(await tx.consoleSessions.end({ ...owner, id: liveId }), false)
    }))
})
