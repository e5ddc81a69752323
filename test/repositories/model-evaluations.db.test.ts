// Evaluations on Postgres: what counts once, what an end keeps, and what an account may have open.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { cancelWork } from '../../src/services/durable-work/cancel.ts'
import { createEvaluation } from '../../src/services/evaluations/create.ts'
import type { ServiceError } from '../../src/domain/service-error.ts'
import { batchCancelled } from '../../src/domain/inference-batch.ts'
import {
  createModelEvaluationActivities,
  type ModelEvaluationDependencies,
} from '../../activities/model-evaluations.ts'
import { sha256Hex } from '../../src/domain/identifiers.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'
import { startWaiting } from '../support/started-work.ts'
import { contextOf } from '../support/service-context.ts'

suite('evaluations', () => {
  const database = openDatabase(8)
  const sandbox = createSandbox(database)
  const plan = { graders: [{ type: 'f1' as const }], chunks: [{ offset: 0, sizeBytes: 9 }], batchIds: [randomUUID()] }
  const rows = { rowsKey: 'rows', rowCount: 2, sizeBytes: 100, plan }
  const answer = { output: 'a\0b', error: null, scores: { f1: 1 } }
  const summary = { models: {}, comparison: {} }
  const origin = { requestId: 'r', address: '::1' }

  const request = { models: [{ name: 'm', modelName: 'm' }], graders: null, maxTokens: 8 }
  const requestBytes = JSON.stringify(request).length

  async function anEvaluation(tx: Repositories, accountId: string) {
    const id = randomUUID()
    const evaluation = { id, accountId, apiKeyId: 'none', datasetId: 'set', dataKey: 'key', maxRows: 10, request }
    await tx.modelEvaluations.create(evaluation)
    return id
  }

  test('keep their first rows and the first scores of a chunk, and count their bytes', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const id = await anEvaluation(tx, accountId)
      assert.equal(await tx.accounts.rowBytes(accountId), requestBytes)
      const position = { evaluationId: id, model: 0, start: 0 }
      await tx.modelEvaluations.saveChunk(position, [answer])
      assert.equal(await tx.modelEvaluations.findChunk(position), null, 'nothing is scored before there are rows')
      assert.ok(await tx.modelEvaluations.start(id, rows))
      assert.ok(!(await tx.modelEvaluations.start(id, { ...rows, rowsKey: 'other' })))
      await tx.modelEvaluations.saveChunk(position, [answer])
      await tx.modelEvaluations.saveChunk(position, [{ ...answer, output: 'late' }])
      assert.deepEqual(await tx.modelEvaluations.findChunk(position), [answer])
      assert.equal(await tx.accounts.storedBytes(accountId), 100)
      assert.ok(await tx.modelEvaluations.complete(id, summary))
      assert.ok(!(await tx.modelEvaluations.end(id, 'CANCELLED', null)))
      const found = await tx.modelEvaluations.find(accountId, id)
      assert.deepEqual(
        [found?.status, found?.rowsKey, found?.plan, found?.summary],
        ['COMPLETED', 'rows', plan, summary],
      )
      assert.ok((await tx.accounts.rowBytes(accountId)) > requestBytes)
      await tx.durableWork.remove('evaluation', [id])
      assert.deepEqual([await tx.accounts.storedBytes(accountId), await tx.accounts.rowBytes(accountId)], [0, 0])
    }))

  test('take nothing after a cancel', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const id = await anEvaluation(tx, accountId)
      assert.deepEqual(await tx.modelEvaluations.openOf(accountId), { evaluationCount: 1, answerCount: 10 })
      assert.ok(await tx.modelEvaluations.end(id, 'CANCELLED', null))
      assert.ok(!(await tx.modelEvaluations.start(id, rows)))
      assert.ok(!(await tx.modelEvaluations.complete(id, summary)))
      assert.deepEqual(await tx.modelEvaluations.openOf(accountId), { evaluationCount: 0, answerCount: 0 })
    }))

  for (const how of ['a cancel', 'the end of the workflow'])
    test(`leave no batch running after ${how}`, () =>
      sandbox(async (tx) => {
        const accountId = await anAccount(tx)
        const [id, other] = [await anEvaluation(tx, accountId), await anEvaluation(tx, accountId)]
        const [done, running, ofOther]: [string, string, string] = [randomUUID(), randomUUID(), randomUUID()]
        for (const batchId of [done, running, ofOther])
          await tx.inferenceBatches.create({
            ...{ id: batchId, accountId, apiKeyId: 'none', kind: 'completions', modelName: 'm', promptsKey: batchId },
            ...{ itemCount: 2, request: { chunkSize: 2, chunks: [{ offset: 0, sizeBytes: 9 }], input: null } },
          })
        await tx.inferenceBatches.finish(done, null)
        await tx.modelEvaluations.start(id, { ...rows, plan: { ...plan, batchIds: [done, running] } })
        await tx.modelEvaluations.start(other, { ...rows, plan: { ...plan, batchIds: [ofOther] } })
        const inside = { ...tx, transaction: (work: (tx: Repositories) => unknown) => work(tx) }
        if (how === 'a cancel')
          await cancelWork({
            ctx: contextOf({ deps: { database: inside }, accountId, origin }),
            input: { kind: 'evaluation', id },
          })
        else {
          const deps = { database: inside, settings: {} } as unknown as ModelEvaluationDependencies
          const activities = createModelEvaluationActivities(deps)
          await activities.endEvaluation({
            evaluationId: id,
            status: 'FAILED',
            message: 'why',
          })
          await activities.endEvaluation({ evaluationId: id, status: 'FAILED', message: 'again' })
        }
        const states = await Promise.all([done, running, ofOther].map((batchId) => tx.inferenceBatches.get(batchId)))
        assert.deepEqual(
          states.map(({ state, message }) => [state, message]),
          [
            ['done', null],
            ['failed', batchCancelled],
            ['running', null],
          ],
        )
        await startWaiting(tx, 'batch')
        const open: string[] = []
        for await (const page of tx.durableWork.started('batch')) open.push(...page.map((batch) => batch.id))
        assert.deepEqual(
          open.filter((batchId) => [done, running, ofOther].includes(batchId)),
          [ofOther],
        )
      }))

  test('are listed newest first in pages, those of the account only', () =>
    sandbox(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      await anEvaluation(tx, other)
      // In one transaction all have the same time, so the ids decide.
      const ids = [
        await anEvaluation(tx, accountId),
        await anEvaluation(tx, accountId),
        await anEvaluation(tx, accountId),
      ]
      const first = await tx.modelEvaluations.list(accountId, { after: null, limit: 2 })
      const rest = await tx.modelEvaluations.list(accountId, { after: first.rows[1]?.id ?? '', limit: 2 })
      assert.deepEqual(
        [...first.rows, ...rest.rows].map(({ id }) => id),
        ids.toSorted().toReversed(),
      )
      assert.deepEqual([first.hasMore, rest.hasMore], [true, false])
      assert.equal(await tx.modelEvaluations.find(other, ids[0] ?? ''), null)
    }))

  test('ask a model as it was trained: without special tokens, if it learned so', async () => {
    const accountId = await anAccount(database)
    const version = { id: randomUUID(), accountId, datasetId: 'set', version: 1, uploadKey: 'up' }
    await database.datasets.createVersion(version)
    await database.datasets.noteSize(version.id, 10)
    const publish = async (args: object) => {
      const { id: jobId } = await openJob(database, accountId, { args } as TrainingSpec)
      const [name, artifactId] = [sha256Hex(randomUUID()), randomUUID()]
      const artifact = { id: artifactId, jobId, attempt: 1, kind: 'model' as const, step: 1, specHash: 'h', files: [] }
      await database.artifacts.create(artifact)
      await database.models.publish({ name, accountId, jobId, artifactId, baseModel: 'm', files: [] })
      return name
    }
    const models = [await publish({ special_tokens: false }), await publish({}), 'm']
    const settings = { maxOpenEvaluations: 3, maxWaitingEvaluationAnswers: 90, maxStoredBytes: 1e12, maxRowBytes: 1e10 }
    const storage = { stat: async () => ({ etag: 'e', sizeBytes: 10 }) }
    const catalogue = { find: (name: string) => (name === 'm' ? { name, task: 'completion' } : undefined) }
    const ctx = { deps: { database, storage, catalogue, settings }, accountId, apiKeyId: 'none', origin }
    const { id } = await createEvaluation({
      ctx: contextOf(ctx),
      input: { models, datasetId: 'set', graders: null, maxRows: 10, maxTokens: 8 },
      idempotency: null,
    })
    const stored = await database.modelEvaluations.get(id)
    assert.deepEqual(
      stored.request.models.map(({ specialTokens = true }) => specialTokens),
      [false, true, true],
    )
    await database.modelEvaluations.end(id, 'CANCELLED', null)
  })

  test('are never more open than the account may have, when its requests come at once', async () => {
    const accountId = await anAccount(database)
    const version = { id: randomUUID(), accountId, datasetId: 'set', version: 1, uploadKey: 'up' }
    await database.datasets.createVersion(version)
    await database.datasets.noteSize(version.id, 10)
    const settings = {
      maxOpenEvaluations: 3,
      maxWaitingEvaluationAnswers: 1000,
      maxStoredBytes: 1e12,
      maxRowBytes: 1e10,
    }
    const storage = { stat: async () => ({ etag: 'e', sizeBytes: 10 }) }
    const catalogue = { find: (name: string) => ({ name, task: 'completion' }) }
    const ctx = contextOf({
      deps: { database, storage, catalogue, settings },
      ...{ accountId, apiKeyId: 'none', origin },
    })
    const create = (maxRows: number) =>
      createEvaluation({
        ctx,
        input: { models: ['a', 'b'], datasetId: 'set', graders: null, maxRows, maxTokens: 8 },
        idempotency: null,
      })
    const answers = await Promise.allSettled(Array.from({ length: 6 }, () => create(10)))
    const refused = answers.flatMap((each) => (each.status === 'rejected' ? [each.reason as ServiceError] : []))
    assert.deepEqual(
      refused.map(({ code }) => code),
      Array.from({ length: 3 }, () => 'quota_exceeded'),
    )
    assert.match(refused[0]?.message ?? '', /3 open evaluations/)
    const evaluations = await database.modelEvaluations.list(accountId, { after: null, limit: 9 })
    for (const { id } of evaluations.rows) await database.modelEvaluations.end(id, 'CANCELLED', null)
    await assert.rejects(create(501), /1002 of this evaluation they would exceed the limit/)
  })
})
