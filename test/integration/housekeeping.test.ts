// Which rows go, on the real database; each in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { connectDatabase, type Repositories } from '../../src/repositories/database.ts'
import { createSandbox } from '../support/sandbox.ts'
import { connection } from '../support/stack.ts'

suite('housekeeping', () => {
  const database = connectDatabase(connection().databaseUrl, { poolSize: 2 })
  after(() => database.close())
  const soon = () => new Date(Date.now() + 60_000)

  const sandbox = createSandbox(database)

  test('messages go once Temporal has them, and not before', () =>
    sandbox(async (tx) => {
      const message = { kind: 'start', generation: 1, payload: { jobId: 0 } } as const
      const [delivered, waiting] = [`test-${randomUUID()}`, `test-${randomUUID()}`]
      for (const workflowId of [delivered, waiting]) await tx.outbox.add({ ...message, workflowId })
      const claimed = await tx.outbox.claim(1000)
      await tx.outbox.markDelivered(claimed.find(({ workflowId }) => workflowId === delivered)?.id ?? 0n)
      const none = await tx.housekeeping.deleteDeliveredMessages(new Date(0), 1000)
      assert.equal(none, 0)
      assert.ok((await tx.housekeeping.deleteDeliveredMessages(soon(), 100_000)) >= 1)
      const left = claimed.find(({ workflowId }) => workflowId === waiting)
      await tx.outbox.retryLater(left?.id ?? 0n, { afterMs: 0, error: 'test' })
      assert.ok((await tx.outbox.claim(1000)).some(({ workflowId }) => workflowId === waiting))
    }))

  test('keys go by age', () =>
    sandbox(async (tx) => {
      const key = { accountId: randomUUID(), key: 'k' }
      await tx.idempotencyKeys.claim(key, Buffer.from('h'), 1000)
      assert.equal(await tx.housekeeping.deleteIdempotencyKeys(new Date(0), 10), 0)
      assert.ok((await tx.housekeeping.deleteIdempotencyKeys(soon(), 100_000)) >= 1)
      assert.equal(await tx.idempotencyKeys.claim(key, Buffer.from('other'), 1000), null)
    }))

  test('batches go by their end: those that run stay', () =>
    sandbox(async (tx) => {
      const { accountId } = await anAccount(tx)
      const batch = {
        accountId,
        apiKeyId: null,
        kind: 'completions',
        modelName: 'm',
        request: {} as never,
        promptsKey: 'prompts',
        itemCount: 1,
      } as const
      const [ended, running] = [randomUUID(), randomUUID()]
      for (const id of [ended, running]) await tx.inferenceBatches.create({ ...batch, id })
      await tx.inferenceBatches.finish(ended, 'result')
      const old = await tx.housekeeping.oldBatches(soon(), 100_000)
      assert.deepEqual(
        old.filter(({ id }) => id === ended || id === running),
        [{ id: ended, keys: ['prompts', 'result'] }],
      )
      await tx.housekeeping.deleteBatches([ended])
      assert.equal(await tx.inferenceBatches.find(accountId, ended), null)
      assert.ok(await tx.inferenceBatches.find(accountId, running))
    }))

  async function anAccount(tx: Repositories): Promise<{ accountId: string }> {
    const { makeApiKey, parseApiKey } = await import('../../src/domain/identifiers.ts')
    const key = parseApiKey(makeApiKey())
    assert.ok(key)
    await tx.accounts.ensureWithApiKey({ name: 'housekeeping', keyId: key.id, secretHash: key.secretHash })
    return { accountId: (await tx.accounts.findLiveApiKey(key.id))?.accountId ?? assert.fail('no account') }
  }
})
