import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { JobBriefFilter } from '../../src/repositories/job-briefs.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { openDatabase } from '../support/sandbox.ts'

class Undone extends Error {}

suite('the rows of a list of jobs', () => {
  const database = openDatabase()

  const undone = (work: (tx: Repositories) => Promise<void>) =>
    assert.rejects(
      database.transaction(async (tx) => {
        await work(tx)
        throw new Undone()
      }),
      Undone,
    )

  test('each filter finds its jobs, in pages, and never those of another account', () =>
    undone(async (tx) => {
      const [accountId, other] = [await anAccount(tx), await anAccount(tx)]
      await openJob(tx, other)
      const jobs = []
      const mixed = { sources: [{ datasetId: 'first' }, { datasetId: 'mixed' }] } as unknown as TrainingSpec
      for (const [name, spec] of [['Shop bot'], [null], ['shop two', mixed]] as const)
        jobs.push(await openJob(tx, accountId, spec, undefined, name))
      const [first, second, third] = jobs.map(({ id }) => id)
      const find = async (filter: JobBriefFilter, limit = 10, after: number | null = null) =>
        tx.jobBriefs.find(accountId, { limit, after, filter })
      const ids = async (filter: JobBriefFilter) => (await find(filter)).ids.toSorted((a, b) => a - b)

      assert.deepEqual(await ids({}), [first, second, third])
      assert.deepEqual(await ids({ text: 'SHOP' }), [first, third])
      assert.deepEqual(await ids({ text: 'shop t' }), [third])
      assert.deepEqual(await ids({ datasetId: jobs[1]?.datasetId }), [second])
      assert.deepEqual(await ids({ datasetId: 'mixed' }), [third])
      assert.deepEqual(await ids({ baseModel: 'n' }), [])
      assert.deepEqual(await ids({ keyId: 'none', statuses: ['CREATED'] }), [first, second, third])
      assert.deepEqual(await ids({ statuses: ['FAILED', 'QUEUED'] }), [])
      const tomorrow = new Date(Date.now() + 24 * 3600 * 1000)
      assert.deepEqual([await ids({ from: tomorrow }), (await ids({ to: tomorrow })).length], [[], 3])

      const page = await find({}, 2)
      const rest = await find({}, 2, page.next)
      assert.deepEqual([page.ids.length, rest.ids.length, rest.next], [2, 1, null])
      assert.deepEqual(new Set([...page.ids, ...rest.ids]), new Set([first, second, third]))
    }))

  test('the curve of a row has few points, with the last loss, and the newest held-out loss', () =>
    undone(async (tx) => {
      const accountId = await anAccount(tx)
      const { id } = await openJob(tx, accountId)
      const figures = async () => (await tx.jobBriefs.figures(accountId, [id]))[0]
      assert.deepEqual([(await figures())?.losses, (await figures())?.validLoss], [null, null])
      const step = { learning_rate: 0.1, epoch: 1, iter_time: 1, flops: 1, remaining_time: 1 }
      const all = Array.from({ length: 100 }, (_, at) => ({ ...step, step: 10 * (at + 1), loss: 100 - at }))
      await tx.trainingSteps.upsertMany(id, 1, [...all, { ...step, step: 1010, loss: 0.5, valid_loss: 0.25 }])
      const { losses, validLoss } = (await figures()) ?? assert.fail()
      assert.deepEqual([losses?.[0], losses?.at(-1), validLoss], [100, 0.5, 0.25])
      assert.ok(losses && losses.length > 20 && losses.length <= 24)
      assert.deepEqual(await tx.jobBriefs.figures(await anAccount(tx), [id]), [])
    }))
})
