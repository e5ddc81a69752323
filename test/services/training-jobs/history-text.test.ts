import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TrainingStep } from '../../../src/domain/training-step.ts'
import type { SeenSteps } from '../../../src/repositories/training-steps.ts'
import { historyText } from '../../../src/services/training-jobs/history-text.ts'

const report = (step: number, loss = 1): TrainingStep => ({
  ...{ loss, learning_rate: 0.5, epoch: 1, iter_time: 2, flops: 3, remaining_time: 4, step },
})

/** A job whose newest attempt started from `fromStep`. */
function world() {
  const job = { attempt: 1, fromStep: 0, steps: [] as TrainingStep[], reads: 0 }
  const since = async (_jobId: number, { attempt, step }: SeenSteps) => {
    const keptStep = job.attempt > attempt ? Math.min(step, job.fromStep) : step
    const steps = job.steps.filter((each) => each.step > keptStep)
    job.reads += steps.length
    return { attempt: job.attempt, keptStep, steps }
  }
  const database = { trainingSteps: { since } } as unknown as Parameters<typeof historyText>[0]
  return { job, text: () => historyText(database, 7) }
}

test('each look reads the new steps only, and gives all', async () => {
  const { job, text } = world()
  assert.equal(await text(), '[]')
  for (let step = 10; step <= 200; step += 10) {
    job.steps.push(report(step))
    const [one, two] = await Promise.all([text(), text()])
    assert.equal(one, JSON.stringify(job.steps))
    assert.equal(two, one)
  }
  assert.equal(job.reads, 40)
})

test('the history has full tens, validated steps and the last one, whatever else is reported', async () => {
  const { job, text } = world()
  const steps = async () => (JSON.parse(await text()) as TrainingStep[]).map(({ step }) => step)
  job.steps = [1, 2, 3].map((step) => report(step))
  assert.deepEqual(await steps(), [])
  const validated = { ...report(4), valid_loss: 1 }
  job.steps.push(validated, ...[5, 6, 7, 8, 9, 10, 13].map((step) => report(step)))
  assert.deepEqual(await steps(), [4, 10])
  job.steps.push(report(20), { ...report(23), remaining_time: 0 })
  assert.deepEqual(await steps(), [4, 10, 20, 23])
})

test('steps behind the checkpoint of a new attempt are replaced', async () => {
  const { job, text } = world()
  job.steps = [10, 20, 30, 40].map((step) => report(step))
  await text()
  Object.assign(job, { attempt: 2, fromStep: 20, steps: [report(10), report(20), report(30, 9)] })
  assert.equal(await text(), JSON.stringify(job.steps))
  job.steps.push(report(40, 8))
  assert.equal(await text(), JSON.stringify(job.steps))
  Object.assign(job, { attempt: 3, fromStep: 0, steps: [] })
  assert.equal(await text(), '[]')
})
