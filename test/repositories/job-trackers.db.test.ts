// Trackers on Postgres: a job's rows, which round may write, how accounts take turns, and what is given up.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import type { TrackerRequest } from '../../src/domain/tracker.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

const request: TrackerRequest = {
  ...{ type: 'mlflow', trackingUri: 'https://mlflow.example.com/' },
  ...{ experiment: null, runName: null, sealedAuthorization: null, serviceUrl: null },
}
const tracked = (count: number) => ({ trackers: Array.from({ length: count }, () => request) }) as TrainingSpec
const failure = { delayMs: 0, giveUpMs: 3_600_000 }
const taken = { state: 'open', delayMs: 0 } as const

suite('trackers', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)
  const claimOf = async (tx: Repositories, accountId: string, perAccount = 4) =>
    (await tx.jobTrackers.claim(1000, perAccount)).filter((each) => each.accountId === accountId)

  test('are made with their job, and one round at a time writes', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { id: jobId } = await openJob(tx, accountId, tracked(1))
      assert.deepEqual(
        await tx.jobTrackers.list((await openJob(tx, accountId)).id),
        [],
        'a job without trackers has none',
      )
      const [tracker, ...others] = await claimOf(tx, accountId)
      assert.ok(tracker)
      assert.deepEqual([others, tracker.jobId, tracker.request], [[], jobId, request])
      assert.deepEqual(await claimOf(tx, accountId), [])
      const late = { ...tracker, claim: '3b241101-e2bb-4255-8caf-4136c566a962' }
      await tx.jobTrackers.noteRun(late, 'late')
      await tx.jobTrackers.release(late, { state: 'done', delayMs: 0 })
      assert.equal(await tx.jobTrackers.renew(late), false)
      assert.equal(await tx.jobTrackers.fail(late, failure), null)
      assert.equal(await tx.jobTrackers.renew(tracker), true)
      await tx.jobTrackers.noteRun(tracker, 'run')
      await tx.jobTrackers.noteSent(tracker, 30)
      await tx.jobTrackers.release(tracker, taken)
      const [again] = await claimOf(tx, accountId)
      assert.deepEqual([again?.runId, again?.sentStep], ['run', 30])
    }))

  test('are under way at most as many at once as an account may have', () =>
    sandbox(async (tx) => {
      const [greedy, other] = [await anAccount(tx), await anAccount(tx)]
      for (let each = 0; each < 3; each++) await openJob(tx, greedy, tracked(3))
      await openJob(tx, other, tracked(1))
      const claimed = await tx.jobTrackers.claim(1000, 2)
      const of = (accountId: string) => claimed.filter((each) => each.accountId === accountId)
      assert.deepEqual([of(greedy).length, of(other).length], [2, 1])
      assert.deepEqual(await claimOf(tx, greedy, 2), [])
      const [one] = of(greedy)
      assert.ok(one)
      await tx.jobTrackers.release(one, { state: 'done', delayMs: 0 })
      assert.equal((await claimOf(tx, greedy, 2)).length, 1)
    }))

  test('are given up after their time of failures, and opened again by a resume', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const { id: jobId } = await openJob(tx, accountId, tracked(1))
      const next = async () => (await claimOf(tx, accountId))[0] ?? assert.fail('nothing is due')
      assert.deepEqual(await tx.jobTrackers.fail(await next(), failure), { state: 'open', isFirst: true })
      assert.deepEqual(await tx.jobTrackers.fail(await next(), failure), { state: 'open', isFirst: false })
      await tx.jobTrackers.release(await next(), taken)
      assert.deepEqual(await tx.jobTrackers.fail(await next(), failure), { state: 'open', isFirst: true })
      const over = await tx.jobTrackers.fail(await next(), { delayMs: 0, giveUpMs: 0 })
      assert.deepEqual(over, { state: 'given_up', isFirst: false })
      assert.deepEqual(await claimOf(tx, accountId), [])
      await tx.trainingJobs.move({ jobId, generation: 1, to: 'FAILED', reason: null, message: null, actor: 'test' })
      assert.deepEqual(await claimOf(tx, accountId), [])
      await tx.trainingJobs.resume(jobId, 'Resumed.')
      assert.equal((await next()).failureCount, 0)
    }))
})
