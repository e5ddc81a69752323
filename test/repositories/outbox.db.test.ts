// Against the real database: which messages a relay gets first.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { evaluationWorkflowId } from '../../src/domain/model-evaluation.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('the outbox', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  type Owner = { accountId: string; apiKeyId: string }

  const openAccount = async (): Promise<Owner> => ({ accountId: await anAccount(database), apiKeyId: 'none' })

  async function createBatch(owner: Owner): Promise<string> {
    const id = randomUUID()
    const request = { chunkSize: 1, chunks: [], input: null, truncate: false }
    const batch = { id, ...owner, kind: 'embeddings', modelName: 'm', request } as const
    await database.inferenceBatches.create({ ...batch, promptsKey: id, itemCount: 1 })
    return id
  }

  async function submitBatches(owner: Owner, count: number): Promise<string[]> {
    const workflowIds: string[] = []
    for (let index = 0; index < count; index++) {
      const id = await createBatch(owner)
      const workflowId = inferenceBatchWorkflowId(id)
      workflowIds.push(workflowId)
      await database.outbox.add({ workflowId, kind: 'start-batch', generation: 1, payload: { batchId: id } })
    }
    return workflowIds
  }

  async function submitEvaluation(owner: Owner, modelCount: number): Promise<string> {
    const id = randomUUID()
    const models = Array.from({ length: modelCount }, (_, at) => ({ name: `m${at}`, modelName: `m${at}` }))
    const request = { models, graders: null, maxTokens: 1 }
    await database.modelEvaluations.create({ id, ...owner, datasetId: 'd', dataKey: 'd', maxRows: 1, request })
    const workflowId = evaluationWorkflowId(id)
    await database.outbox.add({ workflowId, kind: 'start-evaluation', generation: 1, payload: { evaluationId: id } })
    return id
  }
  const claim = async (limit = 50, runningBatches = 8) =>
    (await database.outbox.claim(limit, runningBatches)).map(({ workflowId }) => workflowId)

  async function endBatch(workflowId: string | undefined) {
    assert.ok(workflowId)
    const id = workflowId.slice(inferenceBatchWorkflowId('').length)
    await database.transaction((tx) => tx.inferenceBatches.fail(id, 'tried'))
  }

  test('gives commands first, then accounts turns with their batches', async () => {
    const many = await submitBatches(await openAccount(), 6)
    const few = await submitBatches(await openAccount(), 2)
    await database.outbox.add({ workflowId: 'fine-tune-1', kind: 'cancel', generation: 1, payload: { jobId: 1 } })
    assert.deepEqual(await claim(1), ['fine-tune-1'])
    assert.deepEqual(new Set(await claim(2, 12)), new Set([many[0], few[0]]))
    assert.deepEqual(new Set(await claim(3, 12)), new Set([many[1], few[1], many[2]]))
    // Relays that claim at once share what is left.
    const shared = (await Promise.all([claim(10, 12), claim(10, 12)])).flat()
    assert.deepEqual([shared.length, new Set(shared)], [3, new Set(many.slice(3))])
    for (const workflowId of [...many, ...few]) await endBatch(workflowId)
  })

  test('holds the batches back that an account has beyond eight, until one of them ends', async () => {
    const all = await submitBatches(await openAccount(), 20)
    assert.deepEqual(new Set(await claim()), new Set(all.slice(0, 8)))
    assert.deepEqual(await claim(), [])
    assert.ok(((await database.outbox.dueInMs()) ?? 0) > 0, 'a batch that is held back wakes nobody')
    await endBatch(all[0])
    assert.deepEqual(await claim(), [all[8]])
    for (const workflowId of all) await endBatch(workflowId)
    await claim()
  })

  test('runs half as many batches of an account while another account has open ones, and at least one', async () => {
    const [many, other] = [await submitBatches(await openAccount(), 6), await submitBatches(await openAccount(), 1)]
    assert.deepEqual(new Set(await claim(50, 1)), new Set([many[0], other[0]]))
    assert.deepEqual(await claim(50, 4), [many[1]])
    await endBatch(many[0])
    assert.deepEqual(await claim(50, 4), [many[2]])
    await endBatch(other[0])
    assert.deepEqual(new Set(await claim(50, 4)), new Set(many.slice(3, 5)), 'the account is alone again')
    for (const workflowId of many) await endBatch(workflowId)
    await claim()
  })

  test('gives batches and evaluations places of their own, so that neither holds up the other', async () => {
    const owner = await openAccount()
    const [first, second, third] = [
      await submitEvaluation(owner, 5),
      await submitEvaluation(owner, 8),
      await submitEvaluation(owner, 1),
    ]
    const started = [first, second].map(evaluationWorkflowId)
    assert.deepEqual(new Set(await claim()), new Set(started), 'the second still has room for a batch')
    const batchIds = await Promise.all(Array.from({ length: 8 }, () => createBatch(owner)))
    const plan = { graders: [], chunks: [], batchIds }
    assert.ok(await database.modelEvaluations.start(second, { rowsKey: 'r', rowCount: 1, sizeBytes: 1, plan }))
    const own = await submitBatches(owner, 9)
    assert.deepEqual(new Set(await claim()), new Set(own.slice(0, 8)), 'the batches of evaluations do not count')
    await database.transaction((tx) => tx.modelEvaluations.end(first, 'CANCELLED', null))
    assert.deepEqual(await claim(), [], 'the second fills all places of evaluations')
    await database.transaction((tx) => tx.modelEvaluations.end(second, 'CANCELLED', null))
    assert.deepEqual(await claim(), [evaluationWorkflowId(third)])
  })
})
