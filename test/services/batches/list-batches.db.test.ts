// Against the real database: the batches of an account in one list, and their cancel.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { workflowIdOf } from '../../../src/domain/durable-work.ts'
import type { BatchKind, BatchStatus } from '../../../src/domain/inference-batch.ts'
import { connectDatabase } from '../../../src/repositories/database.ts'
import { cancelBatch } from '../../../src/services/batches/cancel-batch.ts'
import { listBatches } from '../../../src/services/batches/list-batches.ts'
import { showBatch } from '../../../src/services/batches/show-batch.ts'
import { anAccount } from '../../support/job-rows.ts'
import { createScratchDatabase } from '../../support/scratch-database.ts'
import { contextOf } from '../../support/service-context.ts'

suite('the batches of an account', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })
  let submitted = 0

  async function open() {
    const accountId = await anAccount(database)
    const ctx = contextOf({
      ...{ deps: { database }, accountId, apiKeyId: 'none', origin: { requestId: 'r', address: '::1' } },
    })
    const create = async (kind: BatchKind, evaluationId: string | null = null) => {
      // The clock of a scratch database stands still.
      await scratch.setNow(new Date(++submitted))
      const id = randomUUID()
      const request = { chunkSize: 1, chunks: [], input: null }
      const batch = { id, accountId, apiKeyId: 'none', kind, modelName: 'tiny', request, promptsKey: id, itemCount: 3 }
      await database.inferenceBatches.create(batch, { evaluationId })
      return id
    }
    const list = async (limit = 10, after: string | null = null, statuses: readonly BatchStatus[] | null = null) => {
      const { batches, next } = await listBatches({ ctx, input: { limit, after, statuses } })
      return { ids: batches.map(({ id }) => id), next }
    }
    return { ctx, create, list }
  }

  test('are listed in pages, newest first, without those of evaluations and of other accounts', async () => {
    const { create, list } = await open()
    await (await open()).create('completions')
    const [first, second] = [await create('completions'), await create('embeddings')]
    await create('chats', randomUUID())
    const third = await create('requests')
    assert.deepEqual(await list(), { ids: [third, second, first], next: null })
    const page = await list(2)
    assert.deepEqual(page.ids, [third, second])
    assert.deepEqual(await list(2, page.next), { ids: [first], next: null })
    await assert.rejects(list(2, randomUUID()), { code: 'invalid_input' })
    await database.transaction((tx) => tx.inferenceBatches.fail(second, 'It took too long.', 'expired'))
    assert.deepEqual((await list(10, null, ['EXPIRED'])).ids, [second])
    assert.deepEqual((await list(10, null, ['QUEUED', 'RUNNING'])).ids, [third, first])
  })

  test('say why they wait, and who made them of which model', async () => {
    const { ctx, create } = await open()
    const batchId = await create('completions')
    const show = () => showBatch({ ctx, input: { batchId } })
    const { status, wait, displayName, keyName } = await show()
    assert.deepEqual([status, wait?.reason, displayName, keyName], ['QUEUED', 'waiting_for_turn', 'tiny', null])
    await database.installation.setMaintenance('')
    assert.equal((await show()).wait?.reason, 'maintenance')
    await database.installation.setMaintenance(null)
    await database.transaction((tx) => tx.durableWork.grant('batch', { places: 8, limit: 50 }))
    assert.deepEqual([(await show()).status, (await show()).wait], ['RUNNING', null])
  })

  test('end at once when they are cancelled, with their workflow, and a repeat changes nothing', async () => {
    const { ctx, create } = await open()
    const [id, done] = [await create('embeddings'), await create('embeddings')]
    const cancel = (batchId: string) => cancelBatch({ ctx, input: { batchId } })
    for (let tries = 0; tries < 2; tries++) assert.equal((await cancel(id)).status, 'CANCELLED')
    const messages = (await database.outbox.claim(1000)).filter(
      ({ workflowId }) => workflowId === workflowIdOf({ kind: 'batch', id }),
    )
    assert.deepEqual(
      messages.map(({ kind }) => kind),
      ['cancel-work'],
    )
    await database.transaction((tx) => tx.inferenceBatches.finish(done, null))
    await assert.rejects(cancel(done), { code: 'conflict' })
    await assert.rejects(cancel(randomUUID()), { code: 'not_found' })
    const other = await open()
    await assert.rejects(cancelBatch({ ctx: other.ctx, input: { batchId: id } }), { code: 'not_found' })
  })
})
