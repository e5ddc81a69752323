import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentedDefaults, totalSteps } from '../../src/domain/training-args.ts'
import { estimateSeconds } from '../../src/domain/training-estimate.ts'

const run = { seconds: 30, steps: 100, rowsPerStep: 2, secondsPerStep: 0.2, tokensPerRow: 50 }

test('the same job again takes as long as the last one, and twice the steps twice the training', () => {
  assert.deepEqual(estimateSeconds([run], run), { low: 30, likely: 30, high: 30 })
  assert.equal(estimateSeconds([run], { ...run, steps: 200 })?.likely, 50)
})

test('longer and more rows in a step take longer; unknown lengths do not count', () => {
  assert.equal(estimateSeconds([run], { ...run, rowsPerStep: 4 })?.likely, 50)
  assert.equal(estimateSeconds([run], { ...run, tokensPerRow: 100 })?.likely, 50)
  assert.equal(estimateSeconds([{ ...run, tokensPerRow: null }], { ...run, tokensPerRow: 100 })?.likely, 30)
})

test('the range leaves out the fastest and the slowest of ten, and nothing is said without a past job', () => {
  const past = Array.from({ length: 11 }, (_, at) => ({ ...run, seconds: 20 + at }))
  assert.deepEqual(estimateSeconds(past, run), { low: 21, likely: 25, high: 29 })
  assert.equal(estimateSeconds([], run), null)
})

test('steps and epochs are counted as the trainer counts them', () => {
  const args = { ...documentedDefaults, batch_size: 3, gradient_accumulation_steps: 2 }
  assert.deepEqual(totalSteps({ ...args, max_steps: 14 }, 40), { steps: 14, epochs: 2 })
  assert.deepEqual(totalSteps({ ...args, num_train_epochs: 1.5 }, 40), { steps: 11, epochs: 11 / 7 })
  assert.equal(totalSteps({ ...args, num_train_epochs: 0.01 }, 40).steps, 1)
})
