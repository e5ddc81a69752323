// Against the real database: the limits of an account's batches hold when its requests come at once.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ServiceError } from '../../../src/domain/service-error.ts'
import { createBatch } from '../../../src/services/batches/create-batch.ts'
import { anAccount } from '../../support/job-rows.ts'
import { openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

suite('batches of an account', () => {
  const database = openDatabase(8)

  async function open(limits: { maxOpenBatches: number; maxWaitingBatchItems: number }) {
    const accountId = await anAccount(database)
    const objects = new Set<string>()
    const entry = { name: 'mini', task: 'embedding' }
    const ctx = contextOf({
      deps: {
        database,
        storage: {
          writeStream: async (name: string) => void objects.add(name),
          remove: async (names: string[]) => names.forEach((name) => objects.delete(name)),
        },
        catalogue: { defaultEmbeddingModel: entry, find: () => entry },
        settings: { ...limits, maxStoredBytes: 1e12, maxRowBytes: 1e10 },
      },
      ...{ accountId, apiKeyId: 'none', origin: { requestId: 'r', address: '::1' } },
    })
    const submit = (itemCount: number) =>
      createBatch({
        ctx,
        input: {
          kind: 'embeddings',
          modelName: null,
          items: Array.from({ length: itemCount }, () => 'a'),
          completion: null,
          truncate: false,
        },
        idempotency: null,
      })
    return { submit, objects, accountId }
  }

  const refusals = async (answers: Promise<unknown>[]) =>
    (await Promise.allSettled(answers)).flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as ServiceError] : [],
    )

  test('are never more open than the limit, and a refused batch leaves nothing', async () => {
    const { submit, objects, accountId } = await open({ maxOpenBatches: 3, maxWaitingBatchItems: 1000 })
    const refused = await refusals(Array.from({ length: 8 }, () => submit(1)))
    assert.deepEqual(
      refused.map(({ code }) => code),
      Array.from({ length: 5 }, () => 'quota_exceeded'),
    )
    assert.match(refused[0]?.message ?? '', /3 open batches/)
    assert.ok((refused[0]?.retryAfterSeconds ?? 0) > 0)
    assert.deepEqual(await database.inferenceBatches.openOf(accountId), { batchCount: 3, waitingItems: 3 })
    assert.equal(objects.size, 3)
  })

  test('have no more items left to do than it may have, and an ended batch makes room', async () => {
    const { submit, accountId } = await open({ maxOpenBatches: 100, maxWaitingBatchItems: 10 })
    const { id } = await submit(6)
    const [refused = assert.fail('it was accepted')] = await refusals([submit(5)])
    assert.equal(refused.code, 'quota_exceeded')
    assert.match(refused.message, /6 unfinished items.*the 5 of this batch.*limit of 10\./)
    await submit(4)
    await database.inferenceBatches.fail(id, 'ended')
    assert.deepEqual(await database.inferenceBatches.openOf(accountId), { batchCount: 1, waitingItems: 4 })
    await submit(6)
  })
})
