// Rows of imported jobs on the real database.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { LineOf } from '../../src/domain/job-record.ts'
import { anAccount, openJob } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

const atOnce = 2000

const stepOf = (step: number): LineOf<'step'> => ({
  type: 'step',
  ...{ step, attempt: 1, loss: 0.1 + 0.2, learningRate: 1e-7, epoch: 1.5, iterTime: 0.25, flops: 1.5e18 },
  ...{ remainingTime: 5, tokens: 2 ** 40, gradNorm: 1 / 3, tokensPerSecond: null, tokenAccuracy: 0.5 },
  ...{ validLoss: 2.5, validTokenAccuracy: null, validRows: 7, series: { 'rewards/margins': -0.25 } },
  at: new Date('2026-11-01T08:00:00.123Z'),
})

suite('imported jobs', () => {
  const database = openDatabase(2)
  const sandbox = createSandbox(database)

  test('a step has the values of its line, to the bit', () =>
    sandbox(async (tx) => {
      const { id } = await openJob(tx, await anAccount(tx))
      await tx.importedJobs.addSteps(id, [stepOf(3), { ...stepOf(4), series: null }])
      const [[first, second] = []] = await Array.fromAsync(tx.jobRecords.steps(id))
      const { type: _type, tokens, ...line } = stepOf(3)
      const { jobId: _job, sequence: _sequence, tokens: kept, ...row } = first ?? assert.fail('no step')
      assert.deepEqual({ ...row, tokens: Number(kept) }, { ...line, tokens })
      assert.equal(second?.series, null)
    }))

  test('100,000 steps fit into the time of a transaction', () =>
    sandbox(async (tx) => {
      const { id } = await openJob(tx, await anAccount(tx))
      for (let first = 0; first < 100_000; first += atOnce)
        await tx.importedJobs.addSteps(
          id,
          Array.from({ length: atOnce }, (_, at) => stepOf(first + at)),
        )
      assert.equal((await tx.trainingSteps.find(id, [99_999])).length, 1)
    }))
})
