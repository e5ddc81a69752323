// What operators read of all accounts.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { workKinds } from '../../src/domain/durable-work.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { createScratchDatabase } from '../support/scratch-database.ts'

suite('the views of operators', async () => {
  const scratch = await createScratchDatabase()
  const database = connectDatabase(scratch.url, { poolSize: 2 })
  after(async () => {
    await database.close()
    await scratch.drop()
  })
  const { operatorViews } = database
  const [one, other] = [await anAccount(database), await anAccount(database)]
  const ids = (jobs: readonly { jobId: number }[]) => jobs.map(({ jobId }) => jobId)

  test('lists the jobs of all accounts or of one, by status and page by page, newest first', async () => {
    const jobs: number[] = []
    for (const accountId of [one, other, one, one]) jobs.push((await openJob(database, accountId)).id)
    const [first = 0, second = 0, third = 0, fourth = 0] = jobs
    await database.trainingJobs.queue({ jobId: third, generation: 1, reason: 'waiting_for_slot', message: 'Waiting.' })
    const list = async (filter: Partial<Parameters<typeof operatorViews.listJobs>[0]>) =>
      ids(await operatorViews.listJobs({ accountId: null, status: null, after: null, limit: 10, ...filter }))
    assert.deepEqual(await list({}), [fourth, third, second, first])
    assert.deepEqual(await list({ limit: 2 }), [fourth, third])
    assert.deepEqual(await list({ after: third }), [second, first])
    assert.deepEqual(await list({ status: 'QUEUED' }), [third])
    assert.deepEqual(await list({ accountId: one }), [fourth, third, first])
    assert.deepEqual(await list({ accountId: one, after: fourth, status: 'CREATED' }), [first])
    const found = await operatorViews.findJob(third)
    assert.deepEqual([found?.statusReason, found?.accountName, found?.grantedAt], ['waiting_for_slot', 'rows', null])
    assert.equal(await operatorViews.findJob(fourth + 100), null)
  })

  test('tells who holds a slot, who is next, and what has failed since', async () => {
    const [first, second, third] = [
      await openAttempt(database, one),
      await openAttempt(database, one),
      await openAttempt(database, other),
    ]
    await database.transaction((tx) => tx.attempts.grantSlots(1))
    assert.deepEqual(ids(await operatorViews.listHolders(10)), [first.jobId])
    // The other account has no running attempt.
    assert.deepEqual(ids(await operatorViews.listNext(10)), [third.jobId, second.jobId])
    assert.deepEqual(ids(await operatorViews.listNext(1)), [third.jobId])
    const fail = { reason: 'data_error', message: 'Line 3 is bad.', to: 'FAILED', actor: 'test' } as const
    const beforeMs = Date.now()
    await database.trainingJobs.move({ jobId: second.jobId, generation: 1, ...fail })
    assert.deepEqual(ids(await operatorViews.listFailures(new Date(beforeMs - 1000), 10)), [second.jobId])
    assert.deepEqual(await operatorViews.listFailures(new Date(Date.now() + 60_000), 10), [])
  })

  test('lists the batches, evaluations and exports that have failed since, with their accounts', async () => {
    const [batch = '', evaluation = '', merge = '', ofEvaluation = ''] = Array.from({ length: 4 }, () =>
      crypto.randomUUID(),
    )
    const owner = { accountId: one, apiKeyId: 'none' }
    const request = { chunkSize: 1, chunks: [], input: null, truncate: false }
    for (const [id, evaluationId] of [
      [batch, null],
      [ofEvaluation, evaluation],
    ] as const) {
      const created = {
        id,
        ...owner,
        kind: 'embeddings',
        modelName: 'm',
        request,
        promptsKey: id,
        itemCount: 1,
      } as const
      await database.inferenceBatches.create(created, { evaluationId })
      await database.transaction((tx) => tx.inferenceBatches.fail(id, 'No room.'))
    }
    const models = [{ name: 'm', modelName: 'm' }]
    const evaluated = { datasetId: 'd', dataKey: 'd', maxRows: 1, request: { models, graders: null, maxTokens: 1 } }
    await database.modelEvaluations.create({ id: evaluation, ...owner, ...evaluated })
    await database.transaction((tx) => tx.modelEvaluations.end(evaluation, 'FAILED', 'No rows.'))
    const merged = { baseModel: { name: 'tiny' }, adapter: [] } as never
    await database.modelExports.create({ id: merge, accountId: one, modelName: 'm', request: merged })
    await database.modelExports.fail(merge, 'No disk.')
    const failed = async (since: Date) =>
      (await Promise.all(workKinds.map((kind) => operatorViews.listFailedWork(kind, since, 10)))).flat()
    const found = await failed(new Date(0))
    assert.deepEqual(
      found.map(({ kind, id, summary, accountName, message }) => [kind, id, summary, accountName, message]),
      [
        ['batch', batch, 'Batch of 1 embeddings on m', 'rows', 'No room.'],
        ['evaluation', evaluation, 'Evaluation of 1 model', 'rows', 'No rows.'],
        ['export', merge, 'Merged export of a model on tiny', 'rows', 'No disk.'],
      ],
    )
    assert.deepEqual(await failed(new Date(Date.now() + 60_000)), [])
  })

  test('adds up usage by account, day and model, and names the tuned models', async () => {
    const job = await openJob(database, one, undefined, undefined, 'pip')
    const modelName = 'a'.repeat(64)
    const id = crypto.randomUUID()
    await database.artifacts.create({ id, jobId: job.id, attempt: 1, kind: 'model', step: 1, specHash: 'h', files: [] })
    await database.models.publish({
      ...{ name: modelName, accountId: one, jobId: job.id, artifactId: id, baseModel: 'm', files: [] },
    })
    const amount = { prompts: 1, promptTokens: 2, completionTokens: 3, engineSeconds: 4, gpuSeconds: 5 }
    const entries = [
      { accountId: one, apiKeyId: 'k1', model: modelName, day: '2026-11-20' },
      { accountId: one, apiKeyId: 'k2', model: modelName, day: '2026-11-20' },
      { accountId: other, apiKeyId: 'k3', model: 'm', day: '2026-11-21' },
      { accountId: other, apiKeyId: 'k3', model: 'm', day: '2026-11-23' },
    ].map((key) => ({ ...key, ...amount }))
    await database.usage.add({ writer: crypto.randomUUID(), batch: 1, entries })
    const range = {
      from: '2026-11-20',
      to: '2026-11-22',
      embeddingModels: ['m'],
      accountId: null,
      after: null,
      limit: 10,
    }
    const lines = await operatorViews.usage({ ...range, by: ['account', 'day', 'model'] })
    assert.deepEqual(
      lines.map(({ day, accountId, model, prompts, parts }) => [day, accountId, model, prompts, parts?.modelVersion]),
      [
        ['2026-11-20', one, modelName, 2, 1],
        ['2026-11-21', other, 'm', 1, undefined],
      ],
    )
    assert.equal(lines[0]?.parts?.customModelName, 'pip')
    assert.deepEqual(
      await operatorViews.usage({ ...range, by: ['account', 'day', 'model'], after: lines[0] ?? null }),
      [lines[1]],
    )
    const totals = await operatorViews.usage({ ...range, by: [] })
    assert.deepEqual(
      totals.map(({ prompts, promptTokens, embeddedTokens, accountName, day }) => [
        ...[prompts, promptTokens, embeddedTokens, accountName, day],
      ]),
      [[3, 6, 2, '', '']],
    )
    assert.equal((await operatorViews.usage({ ...range, by: ['day'], accountId: other })).length, 1)
    assert.deepEqual(await database.models.displayNames(one, [modelName, 'm']), new Map([[modelName, 'pip@1']]))
    assert.deepEqual(await database.models.displayNames(other, [modelName]), new Map())
  })
})
