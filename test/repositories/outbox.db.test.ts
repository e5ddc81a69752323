// Against the real database: which messages a relay gets first.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { makeApiKey, parseApiKey } from '../../src/domain/identifiers.ts'
import { inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('the outbox', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  async function submitBatches(name: string, count: number): Promise<string[]> {
    const key = parseApiKey(makeApiKey()) ?? assert.fail()
    await database.accounts.ensureWithApiKey({ name, keyId: key.id, secretHash: key.secretHash })
    const { accountId } = (await database.accounts.findLiveApiKey(key.id)) ?? assert.fail()
    const workflowIds: string[] = []
    for (let index = 0; index < count; index++) {
      const id = randomUUID()
      const request = { chunkSize: 1, chunks: [], input: null, truncate: false }
      const batch = { id, accountId, apiKeyId: key.id, kind: 'embeddings', modelName: 'm', request } as const
      await database.inferenceBatches.create({ ...batch, promptsKey: id, itemCount: 1 })
      const workflowId = inferenceBatchWorkflowId(id)
      workflowIds.push(workflowId)
      await database.outbox.add({ workflowId, kind: 'start-batch', generation: 1, payload: { batchId: id } })
    }
    return workflowIds
  }

  test('gives commands first, then accounts turns with their batches', async () => {
    const many = await submitBatches('many', 6)
    const few = await submitBatches('few', 2)
    await database.outbox.add({ workflowId: 'fine-tune-1', kind: 'cancel', generation: 1, payload: { jobId: 1 } })
    const claim = async (limit: number) => (await database.outbox.claim(limit, 8)).map(({ workflowId }) => workflowId)
    assert.deepEqual(await claim(1), ['fine-tune-1'])
    assert.deepEqual(new Set(await claim(2)), new Set([many[0], few[0]]))
    assert.deepEqual(new Set(await claim(3)), new Set([many[1], few[1], many[2]]))
    // Relays that claim at once share what is left.
    const shared = (await Promise.all([claim(10), claim(10)])).flat()
    assert.deepEqual([shared.length, new Set(shared)], [3, new Set(many.slice(3))])
  })

  test('holds the batches back that an account has beyond eight, until one of them ends', async () => {
    const all = await submitBatches('eager', 20)
    const claim = async () => (await database.outbox.claim(50, 8)).map(({ workflowId }) => workflowId)
    assert.deepEqual(new Set(await claim()), new Set(all.slice(0, 8)))
    assert.deepEqual(await claim(), [])
    assert.ok(((await database.outbox.dueInMs()) ?? 0) > 0, 'a batch that is held back wakes nobody')
    const batchId = all[0]?.slice(inferenceBatchWorkflowId('').length) ?? assert.fail()
    await database.transaction((tx) => tx.inferenceBatches.fail(batchId, 'tried'))
    assert.deepEqual(await claim(), [all[8]])
  })
})
