// Somebody who signs in stands in an account as a key without a secret.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { acceptJob, openAccount } from './conformance/subject.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('people in the database', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 4 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  test('several first requests at once make one account of a name; the oldest counts', async () => {
    const found = await Promise.all(
      [1, 2, 3, 4].map(() => database.transaction(async (tx) => (await tx.accounts.named('research')).account.id)),
    )
    assert.equal(new Set(found).size, 1)
    const { id: later } = await database.accounts.create('research')
    // Time stands still in this database.
    await scratch.client.query("update accounts set created_at = now() + interval '1 s' where id = $1", [later])
    assert.equal((await database.accounts.named('research')).account.id, found[0])
  })

  test('the newest token gives the scopes; a revocation refuses older tokens, and a newer one opens the account again', async () => {
    const { account } = await database.accounts.named('sales')
    const id = '00000000000000aa'
    const at = (seconds: number) => new Date(Date.now() + seconds * 1000)
    const enter = (claimsAt: Date, scopes: ('read' | 'admin')[], mail: string | null = 'ann@example.com') =>
      database.apiKeys.enter({
        ...{ id, accountId: account.id, name: 'Ann', scopes, claimsAt },
        ...{ person: { subject: 'ann', mail }, secretHash: Buffer.alloc(32, 7) },
      })
    const live = () => database.accounts.findLiveApiKey(id)

    assert.equal(await enter(at(-60), ['admin']), true, 'the account is opened')
    assert.equal(await enter(at(-30), ['read'], null), false)
    assert.equal(await enter(at(-45), ['admin']), false)
    const key = await live()
    assert.deepEqual([key?.scopes, key?.person], [['read'], { subject: 'ann', mail: null }])
    assert.equal(await database.apiKeys.countLive(account.id), 0, 'people do not count as keys')

    const cookieHash = Buffer.alloc(32, 8)
    const secrets = { cookieHash, pageTokenHash: Buffer.alloc(32, 9) }
    await database.consoleSessions.add({ accountId: account.id, apiKeyId: id }, secrets, 3600)
    assert.ok(await database.consoleSessions.findLive(cookieHash))
    await database.apiKeys.revoke(id, new Date())
    assert.equal(await enter(at(-20), ['admin']), false)
    assert.equal(await live(), null)
    assert.equal(await enter(at(20), ['read']), true, 'opened again')
    assert.deepEqual((await live())?.scopes, ['read'])
    assert.equal(await database.consoleSessions.findLive(cookieHash), null, 'a session that has ended stays ended')
    const liveWith = (claimsAt: Date) => database.accounts.findLiveApiKey(id, claimsAt)
    assert.equal(await liveWith(at(-20)), null, 'a token from before the revocation stays refused')
    assert.ok(await liveWith(at(20)))
    await enter(at(40), ['read'])
    assert.equal(await liveWith(at(-20)), null, 'also after further tokens')
  })

  test('the trail names who has submitted a job', async () => {
    const account = await openAccount(database)
    await acceptJob(database, account)
    const [audited] = await database.auditEvents.list(account.accountId, { before: null, limit: 1 })
    const { action, person } = audited ?? assert.fail('the submission is not audited')
    assert.deepEqual([action, person], ['job.submit', { subject: 'ann', mail: 'ann@example.com' }])
  })
})
