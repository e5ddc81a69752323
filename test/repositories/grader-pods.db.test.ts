// Pods of Python graders in the table: how many are granted, whose turn it is, and when one goes.
import assert from 'node:assert/strict'
import { after, beforeEach, suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('pods of Python graders', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 3 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })
  beforeEach(() => scratch.client.query('delete from grader_pods'))

  const [one, two] = [await anAccount(database), await anAccount(database)]
  const want = (accountId: string, name: string) =>
    database.graderPods.want({ name, accountId, imageTag: '2026-11-28' })
  const grant = async (more: { total?: number } = {}) => {
    const bounds = { ofAccount: 2, total: 9, idleMs: 300_000, ...more }
    const { granted, waiting } = await database.transaction((tx) => tx.graderPods.grant(bounds))
    return { granted: granted.map(({ name }) => name), waiting }
  }
  const unused = (name: string, forSeconds: number) =>
    scratch.client.query(`update grader_pods set asked_at = now() - $1 * interval '1 second' where name = $2`, [
      forSeconds,
      name,
    ])

  test('an account has two, and the next one waits until one of them is not used', async () => {
    for (const name of ['a', 'b', 'c']) await want(one, name)
    await want(two, 'd')
    assert.deepEqual(await grant(), { granted: ['a', 'b', 'd'], waiting: 1 })
    assert.deepEqual(await Promise.all([one, two].map(database.graderPods.countGranted)), [2, 1])
    await unused('d', 20)
    assert.deepEqual(await grant(), { granted: ['a', 'b', 'd'], waiting: 1 }, 'it is of another account')
    await unused('b', 20)
    assert.deepEqual(await grant(), { granted: ['a', 'c', 'd'], waiting: 0 })
  })

  test('where all are granted, the account with the fewest is next', async () => {
    for (const name of ['a', 'b']) await want(one, name)
    await want(two, 'c')
    assert.deepEqual((await grant({ total: 2 })).granted, ['a', 'c'])
    await unused('a', 20)
    assert.deepEqual(await grant({ total: 2 }), { granted: ['b', 'c'], waiting: 0 })
  })

  test('one that is not used goes, and one that nobody waits for any more', async () => {
    for (const name of ['a', 'b', 'c']) await want(one, name)
    await grant()
    await unused('a', 301)
    await unused('c', 61)
    assert.deepEqual(await grant(), { granted: ['b'], waiting: 0 })
  })

  test('workers that grant at once grant no more', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await want(one, name)
    await Promise.all([grant(), grant(), grant()])
    assert.deepEqual((await grant()).granted.length, 2)
  })

  test('an address is forgotten only by whoever found no answer there', async () => {
    await want(one, 'a')
    const ready = { address: '10.0.0.1', message: null, isRefused: false }
    await database.graderPods.setPlace('a', ready)
    await database.graderPods.forgetAddress('a', '10.0.0.2')
    assert.deepEqual(await want(one, 'a'), ready)
    await database.graderPods.forgetAddress('a', '10.0.0.1')
    assert.equal((await want(one, 'a')).address, null)
  })
})
