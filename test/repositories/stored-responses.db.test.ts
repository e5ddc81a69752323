// Stored responses on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('stored responses', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)

  /** Rows of one transaction have one time, so the ids order them. */
  const ids = Array.from({ length: 5 }, (_, at) => randomUUID().replace(/^./, String(at)))
  const [first = '', second = '', third = '', fourth = ''] = ids
  const aResponse = (text = 'a') => ({ conversation: [{ text }], response: { text: 'b\u0000' } })
  const left = async (tx: Repositories, accountId: string) => {
    const found = await Promise.all(ids.map((id) => tx.storedResponses.find({ accountId, id })))
    return ids.filter((_, at) => found[at])
  }

  test('are found and removed by their account only, as they were stored', () =>
    sandbox(async (tx) => {
      const [accountId, stranger] = [await anAccount(tx), await anAccount(tx)]
      await tx.storedResponses.add({ accountId, id: first }, aResponse(), { responses: 9, bytes: 999 })
      assert.deepEqual(await tx.storedResponses.find({ accountId, id: first }), aResponse())
      assert.equal(await tx.storedResponses.find({ accountId: stranger, id: first }), null)
      assert.equal(await tx.storedResponses.remove({ accountId: stranger, id: first }), false)
      assert.equal(await tx.storedResponses.remove({ accountId, id: first }), true)
      assert.equal(await tx.storedResponses.find({ accountId, id: first }), null)
    }))

  test('make room for the newest by number and by bytes, in their own account', () =>
    sandbox(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      await tx.storedResponses.add({ accountId: other, id: fourth }, aResponse(), { responses: 2, bytes: 999 })
      for (const id of [first, second, third])
        await tx.storedResponses.add({ accountId, id }, aResponse(), { responses: 2, bytes: 999 })
      assert.deepEqual(await left(tx, accountId), [second, third])
      const large = ids[4] ?? ''
      await tx.storedResponses.add({ accountId, id: large }, aResponse('a'.repeat(100)), { responses: 9, bytes: 150 })
      assert.deepEqual(await left(tx, accountId), [large])
      assert.deepEqual(await left(tx, other), [fourth])
    }))

  test('go with their account, and when they are old', () =>
    sandbox(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      await tx.storedResponses.add({ accountId, id: first }, aResponse(), { responses: 9, bytes: 999 })
      await tx.storedResponses.add({ accountId: other, id: second }, aResponse(), { responses: 9, bytes: 999 })
      await tx.accountData.deleteAccount(accountId)
      assert.deepEqual(await left(tx, accountId), [])
      assert.equal(await tx.retention.deleteOld('stored_responses', new Date(0), 10), 0)
      assert.deepEqual(await left(tx, other), [second])
      assert.ok((await tx.retention.deleteOld('stored_responses', new Date(Date.now() + 3_600_000), 1000)) > 0)
      assert.deepEqual(await left(tx, other), [])
    }))
})
