import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount, openAttempt, openJob } from '../support/job-rows.ts'
import { openDatabase } from '../support/sandbox.ts'

class Undone extends Error {}

suite('the details of a job', () => {
  const database = openDatabase()

  const undone = (work: (tx: Repositories) => Promise<void>) =>
    assert.rejects(
      database.transaction(async (tx) => {
        await work(tx)
        throw new Undone()
      }),
      Undone,
    )

  const spec = {
    args: documentedDefaults,
    givenArgs: ['max_steps'],
    gpus: null,
    nodes: 2,
    metadata: { team: 'a' },
    baseModel: { resources: { gpuCount: 4 } },
  } as unknown as TrainingSpec
  const stepAt = (step: number) => ({
    ...{ step, loss: 1 / step, learning_rate: 0.1, epoch: 1 },
    ...{ iter_time: 0.5, flops: 1, remaining_time: 100 - step },
  })
  const measured = {
    ...{ tokens: 2 ** 40, grad_norm: 0.25, tokens_per_second: 500 },
    ...{ token_accuracy: 0.625, valid_loss: 0.5, valid_token_accuracy: 0.75, valid_rows: 16 },
  }
  const unmeasured = Object.fromEntries(Object.keys(measured).map((name) => [name, null]))

  test('an untouched job, then its attempts and its newest step; never a job of another account', () =>
    undone(async (tx) => {
      const accountId = await anAccount(tx)
      const { id: jobId } = await openJob(tx, accountId, spec)
      const [bare] = await tx.jobDetails.describe(accountId, [jobId])
      assert.deepEqual(
        [bare?.args, bare?.givenArgs, bare?.metadata, bare?.nodes, bare?.modelGpus, bare?.gpus],
        [documentedDefaults, ['max_steps'], { team: 'a' }, 2, 4, null],
      )
      assert.deepEqual(
        [bare?.newestAttempt, bare?.startedAt, bare?.lastStep, bare?.trainRows, bare?.trainingSeconds],
        [null, null, null, null, 0],
      )

      const rowCounts = { rows: 9, tokens: 90, learned: 40, cut: 3, dropped: 0, withoutEnd: 2, isWhole: true }
      const first = await openAttempt(tx, accountId, 1, jobId)
      await tx.attempts.claim(first.tokenHash, 'one')
      await tx.trainingSteps.upsertMany(jobId, 1, [stepAt(10), stepAt(20)])
      await tx.attempts.update({ jobId, number: 1 }, { truncatedRows: 3, rowCounts })
      await openAttempt(tx, accountId, 2, jobId)
      const [later] = await tx.jobDetails.describe(accountId, [jobId])
      assert.ok(later?.startedAt)
      assert.deepEqual([later.newestAttempt?.number, later.newestAttempt?.claimedAt, later.attemptCount], [2, null, 2])
      assert.deepEqual(later.lastStep, { ...stepAt(20), ...unmeasured })
      assert.deepEqual([bare?.truncatedRows, later.truncatedRows], [null, 3])
      assert.deepEqual([bare?.rowCounts, later.rowCounts], [null, rowCounts])
      assert.deepEqual(await tx.jobDetails.describe(await anAccount(tx), [jobId]), [])
    }))

  test('steps come in pages with every series that their rows have', () =>
    undone(async (tx) => {
      const { id: jobId } = await openJob(tx, await anAccount(tx))
      await tx.trainingSteps.upsertMany(jobId, 1, [{ ...stepAt(30), ...measured }, stepAt(10), stepAt(20)])
      const [last, before] = [
        { ...stepAt(30), ...measured },
        { ...stepAt(20), ...unmeasured },
      ]
      assert.deepEqual(await tx.jobDetails.metrics(jobId, { sinceStep: 10, limit: 1 }), [before])
      assert.deepEqual(await tx.jobDetails.metrics(jobId, { sinceStep: 20, limit: 5 }), [last])
    }))

  test('the past runs of a base are its complete jobs without an interruption', () =>
    undone(async (tx) => {
      const accountId = await anAccount(tx)
      const complete = async (attempts: number, more = {}, series = {}) => {
        const { id: jobId } = await openJob(tx, accountId, { ...spec, ...more })
        for (let number = 1; number <= attempts; number++) {
          const { tokenHash } = await openAttempt(tx, accountId, number, jobId)
          await tx.attempts.claim(tokenHash, 'one')
        }
        await tx.trainingSteps.upsertMany(jobId, attempts, [stepAt(90), { ...stepAt(100), ...series }])
        const end = { reason: null, message: null, actor: 'test' }
        const way = [
          'QUEUED',
          'LOADING DATA',
          'TRAINING MODEL',
          'SAVING MODEL',
          'EVALUATING MODEL',
          'COMPLETED',
        ] as const
        for (const to of way) await tx.trainingJobs.move({ jobId, generation: 1, to, ...end })
      }
      await complete(1)
      await complete(2)
      const past = { gpuCount: 8, method: 'supervised', limit: 1000 } as const
      const jobs = await tx.jobDetails.pastJobs('m', past)
      const { seconds, ...job } = jobs[0] ?? assert.fail('no job')
      assert.deepEqual(job, { steps: 100, secondsPerStep: 0.5, rowsPerStep: 2, tokensPerRow: null, answerTokens: null })
      assert.ok(seconds >= 0 && jobs.length === 1)
      assert.deepEqual(await tx.jobDetails.pastJobs('m', { ...past, gpuCount: 3 }), [])
      assert.deepEqual(await tx.jobDetails.pastJobs('m', { ...past, method: 'dpo' }), [])
      const hyperparameters = { samples_per_prompt: 8, compute_multiplier: 1.5 }
      const lengths = { series: { 'completions/mean_length': 24 } }
      await complete(1, { method: { type: 'reinforcement', hyperparameters, given: [] } }, lengths)
      const [sampled] = await tx.jobDetails.pastJobs('m', { ...past, method: 'reinforcement' })
      assert.deepEqual([sampled?.rowsPerStep, sampled?.answerTokens], [2 * 12, 24], 'a step computes answers')
    }))

  test('the waiting stand in the order in which slots are granted', () =>
    undone(async (tx) => {
      const [one, other] = [await anAccount(tx), await anAccount(tx)]
      const waiting: number[] = []
      for (const accountId of [one, one, other]) waiting.push((await openAttempt(tx, accountId)).jobId)
      const [first, second, ofOther] = waiting
      const order = (await tx.jobDetails.waiting(10_000)).filter((jobId) => waiting.includes(jobId))
      assert.deepEqual(order, [first, ofOther, second])
    }))
})
