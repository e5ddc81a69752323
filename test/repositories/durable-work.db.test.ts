// Against the real database: who has a turn.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { workflowIdOf, workKinds, type WorkKind } from '../../src/domain/durable-work.ts'
import { batchAgeLimitMs, inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { evaluationWorkflowId } from '../../src/domain/model-evaluation.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'
import { startWaiting } from '../support/started-work.ts'

suite('durable work', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })

  let submitted = 0
  /** The clock of a scratch database stands still. */
  const later = () => scratch.setNow(new Date(++submitted))

  type Owner = { accountId: string; apiKeyId: string }

  const openAccount = async (): Promise<Owner> => ({ accountId: await anAccount(database), apiKeyId: 'none' })

  async function createBatch(owner: Owner, evaluationId: string | null = null): Promise<string> {
    await later()
    const id = randomUUID()
    const request = { chunkSize: 1, chunks: [], input: null, truncate: false }
    const batch = { id, ...owner, kind: 'embeddings', modelName: 'm', request } as const
    await database.inferenceBatches.create({ ...batch, promptsKey: id, itemCount: 1 }, { evaluationId })
    return id
  }

  async function submitBatches(owner: Owner, count: number): Promise<string[]> {
    const workflowIds: string[] = []
    for (let index = 0; index < count; index++) workflowIds.push(inferenceBatchWorkflowId(await createBatch(owner)))
    return workflowIds
  }

  async function submitEvaluation(owner: Owner, modelCount: number): Promise<string> {
    await later()
    const id = randomUUID()
    const models = Array.from({ length: modelCount }, (_, at) => ({ name: `m${at}`, modelName: `m${at}` }))
    const request = { models, graders: null, maxTokens: 1 }
    await database.modelEvaluations.create({ id, ...owner, datasetId: 'd', dataKey: 'd', maxRows: 1, request })
    return id
  }

  async function submitExport({ accountId }: Owner): Promise<string> {
    const id = randomUUID()
    const request = { baseModel: { name: 'tiny' }, adapter: [] } as never
    await database.modelExports.create({ id, accountId, modelName: id, request })
    return id
  }

  const grant = (kind: WorkKind, limit = 50, places = 8) =>
    database.transaction((tx) => tx.durableWork.grant(kind, { places, limit }))

  /** The workflows that are to start after a pass of the scheduler. */
  async function begun(limit = 50, places = 8): Promise<string[]> {
    for (const kind of workKinds) await grant(kind, limit, places)
    const messages = await database.outbox.claim(1000)
    for (const { id } of messages) await database.outbox.markDelivered(id)
    return messages.map(({ workflowId }) => workflowId)
  }

  async function endBatch(workflowId: string | undefined) {
    assert.ok(workflowId)
    const id = workflowId.slice(inferenceBatchWorkflowId('').length)
    await database.transaction((tx) => tx.inferenceBatches.fail(id, 'tried'))
  }

  test('begins no work of any kind in maintenance, and all of it afterwards', async () => {
    const owner = await openAccount()
    await database.installation.setMaintenance('')
    const [batch = ''] = await submitBatches(owner, 1)
    const [evaluation, exported] = [await submitEvaluation(owner, 1), await submitExport(owner)]
    const waiting = [batch, evaluationWorkflowId(evaluation), workflowIdOf({ kind: 'export', id: exported })]
    assert.deepEqual(await begun(), [])
    await database.installation.setMaintenance(null)
    assert.deepEqual(new Set(await begun()), new Set(waiting))
    await endBatch(batch)
    await database.durableWork.remove('evaluation', [evaluation])
    await database.durableWork.remove('export', [exported])
  })

  test('reads what the workflow of each kind starts with, and nothing of work that has ended', async () => {
    const owner = await openAccount()
    const ids = {
      batch: await createBatch(owner),
      evaluation: await submitEvaluation(owner, 2),
      export: await submitExport(owner),
    }
    const starts = await Promise.all(workKinds.map((kind) => database.durableWork.startOf({ kind, id: ids[kind] })))
    const batch = { batchId: ids.batch, chunkCount: 0, ageLimitMs: batchAgeLimitMs }
    assert.deepEqual(
      starts.map((start) => [start?.input, start?.summary, start?.baseModel, start?.accountId === owner.accountId]),
      [
        [batch, 'Batch of 1 embeddings on m', null, true],
        [{ evaluationId: ids.evaluation }, 'Evaluation of 2 models', null, true],
        [{ exportId: ids.export }, 'Merged export of a model on tiny', 'tiny', true],
      ],
    )
    await endBatch(inferenceBatchWorkflowId(ids.batch))
    assert.equal(await database.durableWork.startOf({ kind: 'batch', id: ids.batch }), null)
    await database.durableWork.remove('evaluation', [ids.evaluation])
    await database.durableWork.remove('export', [ids.export])
    assert.deepEqual(await begun(), [])
  })

  test('accounts take turns, and schedulers at once share what is left', async () => {
    const many = await submitBatches(await openAccount(), 6)
    const few = await submitBatches(await openAccount(), 2)
    assert.deepEqual(new Set(await begun(2, 12)), new Set([many[0], few[0]]))
    assert.deepEqual(new Set(await begun(3, 12)), new Set([many[1], few[1], many[2]]))
    const counts = await Promise.all([grant('batch', 10, 12), grant('batch', 10, 12)])
    assert.equal(counts[0] + counts[1], 3)
    assert.deepEqual(new Set(await begun(50, 12)), new Set(many.slice(3)))
    for (const workflowId of [...many, ...few]) await endBatch(workflowId)
  })

  test('holds the batches back that an account has beyond eight, until one of them ends', async () => {
    const all = await submitBatches(await openAccount(), 20)
    assert.deepEqual(new Set(await begun()), new Set(all.slice(0, 8)))
    assert.deepEqual(await begun(), [])
    await endBatch(all[0])
    assert.deepEqual(await begun(), [all[8]])
    for (const workflowId of all) await endBatch(workflowId)
    await begun()
  })

  test('runs half as many batches of an account while another account has open ones, and at least one', async () => {
    const [many, other] = [await submitBatches(await openAccount(), 6), await submitBatches(await openAccount(), 1)]
    assert.deepEqual(new Set(await begun(50, 1)), new Set([many[0], other[0]]))
    assert.deepEqual(await begun(50, 4), [many[1]])
    await endBatch(many[0])
    assert.deepEqual(await begun(50, 4), [many[2]])
    await endBatch(other[0])
    assert.deepEqual(new Set(await begun(50, 4)), new Set(many.slice(3, 5)), 'the account is alone again')
    for (const workflowId of many) await endBatch(workflowId)
    await begun()
  })

  test('gives batches and evaluations places of their own, so that neither holds up the other', async () => {
    const owner = await openAccount()
    const [first, second, third] = [
      await submitEvaluation(owner, 5),
      await submitEvaluation(owner, 8),
      await submitEvaluation(owner, 1),
    ]
    const started = [first, second].map(evaluationWorkflowId)
    assert.deepEqual(new Set(await begun()), new Set(started), 'the second still has room for a batch')
    const batchIds = await Promise.all(Array.from({ length: 8 }, () => createBatch(owner, second)))
    const plan = { graders: [], chunks: [], batchIds }
    assert.ok(await database.modelEvaluations.start(second, { rowsKey: 'r', rowCount: 1, sizeBytes: 1, plan }))
    const own = await submitBatches(owner, 9)
    assert.deepEqual(new Set(await begun()), new Set(own.slice(0, 8)), 'the batches of evaluations do not count')
    await database.transaction((tx) => tx.modelEvaluations.end(first, 'CANCELLED', null))
    assert.deepEqual(await begun(), [], 'the second fills all places of evaluations')
    await database.transaction((tx) => tx.modelEvaluations.end(second, 'CANCELLED', null))
    assert.deepEqual(await begun(), [evaluationWorkflowId(third)])
  })

  const live = {
    batch: {
      create: (owner: Owner) => createBatch(owner),
      end: (id: string) => database.inferenceBatches.fail(id, 'why'),
    },
    evaluation: {
      create: (owner: Owner) => submitEvaluation(owner, 1),
      end: (id: string) => database.modelEvaluations.end(id, 'FAILED', 'why'),
    },
    export: { create: submitExport, end: (id: string) => database.modelExports.fail(id, 'why') },
  } satisfies Record<WorkKind, unknown>

  for (const kind of workKinds)
    test(`reads open work of the kind ${kind} in pages, and removes work by its end`, async () => {
      const owner = await openAccount()
      const { create, end } = live[kind]
      const ids = [await create(owner), await create(owner), await create(owner)].toSorted()
      await database.transaction((tx) => startWaiting(tx, kind))
      const started: string[] = []
      for await (const page of database.durableWork.started(kind, 2)) {
        assert.ok(page.length <= 2)
        started.push(...page.map(({ id }) => id))
      }
      assert.deepEqual(
        started.filter((id) => ids.includes(id)),
        ids,
      )
      const oldOf = async (before: Date) => {
        const old = await database.durableWork.listOld(kind, before, 100_000)
        return old.filter(({ accountId }) => accountId === owner.accountId)
      }
      const [ended = '', ...open] = ids
      await end(ended)
      const now = await database.now()
      assert.deepEqual(await oldOf(now), [])
      assert.deepEqual(await oldOf(new Date(now.getTime() + 1)), [{ id: ended, accountId: owner.accountId }])
      await database.durableWork.remove(kind, [ended])
      assert.deepEqual(await oldOf(new Date(now.getTime() + 1)), [])
      for (const id of open) assert.ok(await database.durableWork.isOpen({ kind, id }))
    })
})
