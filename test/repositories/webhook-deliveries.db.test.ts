// The queries of the webhook sender, on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('the rows of webhooks', async () => {
  const database = openDatabase()

  const sandbox = createSandbox(database)

  async function endpointWithEvents(tx: Repositories, count: number): Promise<string> {
    const accountId = await anAccount(tx)
    const job = await openJob(tx, accountId)
    const id = randomUUID()
    await tx.webhooks.create({
      id,
      accountId,
      url: 'https://example.com/',
      description: '',
      statuses: [],
      secrets: [],
    })
    for (let at = 0; at < count; at++)
      await tx.jobEvents.add(job.id, { kind: 'status', status: 'QUEUED', actor: 'test' })
    return id
  }

  test('an endpoint is held by one worker; another gets it when it was released', () =>
    sandbox(async (tx) => {
      const id = await endpointWithEvents(tx, 1)
      const claimed = (await tx.webhookDeliveries.claimEndpoints(1000)).find((each) => each.id === id)
      assert.ok(claimed)
      assert.ok(!(await tx.webhookDeliveries.claimEndpoints(1000)).some((each) => each.id === id))
      await tx.webhookDeliveries.release({ ...claimed, claim: '2000-01-01' })
      assert.ok(!(await tx.webhookDeliveries.claimEndpoints(1000)).some((each) => each.id === id), 'of a later claim')
      await tx.webhookDeliveries.release(claimed)
      assert.ok((await tx.webhookDeliveries.claimEndpoints(1000)).some((each) => each.id === id))
    }))

  test('only the oldest event of a job is due; the others wait as long', () =>
    sandbox(async (tx) => {
      const id = await endpointWithEvents(tx, 3)
      const [claimed] = (await tx.webhookDeliveries.claimEndpoints(1000)).filter((each) => each.id === id)
      const due = await tx.webhookDeliveries.listDue(id, 10)
      assert.equal(due.length, 1)
      const [first] = due
      assert.ok(first && claimed)
      assert.equal(await tx.webhookDeliveries.markFailed(first.id, { attempts: [], delayMs: 60_000 }), false)
      await tx.webhookDeliveries.releaseAndPutOff(claimed)
      const all = await tx.webhooks.listDeliveries(id, { before: null, limit: 10 })
      const times = all.map(({ dueAt }) => dueAt?.getTime())
      assert.ok((times[0] ?? 0) > Date.now() + 30_000)
      assert.equal(new Set(times).size, 1)
    }))

  test('old deliveries are removed', () =>
    sandbox(async (tx) => {
      const id = await endpointWithEvents(tx, 2)
      await tx.retention.deleteOld('webhook_deliveries', new Date(0), 1000)
      assert.equal((await tx.webhooks.listDeliveries(id, { before: null, limit: 10 })).length, 2)
      await tx.retention.deleteOld('webhook_deliveries', new Date(Date.now() + 60_000), 100_000)
      assert.deepEqual(await tx.webhooks.listDeliveries(id, { before: null, limit: 10 }), [])
    }))
})
