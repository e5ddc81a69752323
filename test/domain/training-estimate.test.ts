import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import { totalSteps } from '../../src/domain/training-steps.ts'
import { estimateSeconds, type PastJob, type Planned } from '../../src/domain/training-estimate.ts'

const job = { seconds: 30, steps: 100, rowsPerStep: 2, secondsPerStep: 0.2, tokensPerRow: 50 }

/** A job on a machine where each job takes 10 s, a step 0.1 s and a token of the step 0.001 s, each times `slowness`. */
function jobOf({ steps, rowsPerStep, tokensPerRow }: Planned, slowness = 1): PastJob {
  const secondsPerStep = slowness * (0.1 + 0.001 * rowsPerStep * (tokensPerRow ?? 0))
  return { steps, rowsPerStep, tokensPerRow, secondsPerStep, seconds: slowness * 10 + steps * secondsPerStep }
}

const estimate = (past: PastJob[], planned: Planned) =>
  estimateSeconds(past, planned) ?? assert.fail('there is no estimate')

test('the same job again takes as long as the last one, and twice the steps twice the training', () => {
  assert.equal(estimate([job], job).likely, 30)
  assert.equal(estimate([job], { ...job, steps: 200 }).likely, 50)
  assert.equal(estimateSeconds([], job), null)
  const timeless = { ...job, seconds: 0, secondsPerStep: 0, tokensPerRow: 0 }
  assert.deepEqual(estimate([timeless], timeless), { low: 0, likely: 0, high: 0 })
})

test('the range is wide after a single job, and narrow after equal jobs', () => {
  const widthOf = (count: number) => {
    const { low, high } = estimate(Array<PastJob>(count).fill(job), job)
    return high / low
  }
  assert.ok(widthOf(1) > 4 && widthOf(5) < 2 && widthOf(20) < 1.2, `${widthOf(1)}, ${widthOf(5)}, ${widthOf(20)}`)
})

test('without other sizes in the past, larger steps take between as long and as much longer', () => {
  const past = Array<PastJob>(20).fill(job)
  const larger = estimate(past, { ...job, rowsPerStep: 8 })
  assert.ok(larger.low <= 30 && larger.likely === 60 && larger.high >= 90, JSON.stringify(larger))
  assert.deepEqual(estimate(past, { ...job, tokensPerRow: 200 }), larger)
})

test('past jobs of several sizes tell which part of a step follows its tokens', () => {
  const sizes = [1, 2, 4, 8, 16].map((rowsPerStep) => jobOf({ steps: 100, rowsPerStep, tokensPerRow: 50 }))
  for (const planned of [
    { steps: 1000, rowsPerStep: 32, tokensPerRow: 50 },
    { steps: 50, rowsPerStep: 1, tokensPerRow: 20 },
  ]) {
    const { seconds } = jobOf(planned)
    const { low, likely, high } = estimate([...sizes, ...sizes], planned)
    assert.ok(low < seconds && seconds < high, `${low} to ${high}, took ${seconds}`)
    assert.ok(likely / seconds > 0.75 && likely / seconds < 1.3, `estimated ${likely}, took ${seconds}`)
  }
})

test('rows are compared by number when the tokens of one side are unknown', () => {
  const uncounted = { ...job, tokensPerRow: null }
  assert.equal(estimate([uncounted], { ...job, tokensPerRow: 100 }).likely, 30)
  assert.equal(estimate([job, uncounted], { ...job, tokensPerRow: 100 }).likely, 30)
  assert.equal(estimate([job], { ...uncounted, rowsPerStep: 8 }).likely, 60)
})

test('the newest jobs count most, and a single slow job moves nothing', () => {
  const slow = { ...job, secondsPerStep: 0.4, seconds: 50 }
  const oldSlow = [...Array<PastJob>(6).fill(job), ...Array<PastJob>(14).fill(slow)]
  assert.equal(estimate(oldSlow, job).likely, 30)
  assert.equal(estimate([...Array<PastJob>(4).fill(job), slow], job).likely, 30)
})

test('the range holds four of five jobs on a machine whose speed changes by half', () => {
  // Steps of the golden ratio spread the values evenly, the same in each run of the test.
  const even = (index: number, step: number) => (index * step) % 1
  const history = Array.from({ length: 120 }, (_, index) => {
    const rowsPerStep = 1 + Math.floor(even(index, 0.7548777) * 16)
    const steps = 50 + Math.floor(even(index, 0.5698403) * 500)
    return jobOf({ steps, rowsPerStep, tokensPerRow: 50 }, Math.exp(0.8 * (even(index, 0.6180339) - 0.5)))
  })
  let held = 0
  for (let at = 1; at < history.length; at++) {
    const planned = history[at] ?? assert.fail('no job')
    const { low, high } = estimate(history.slice(Math.max(0, at - 20), at).toReversed(), planned)
    if (low <= planned.seconds && planned.seconds <= high) held++
  }
  assert.ok(held / 119 > 0.78 && held / 119 < 0.98, `${held} of 119`)
})

test('steps and epochs are counted as the trainer counts them', () => {
  const args = { ...documentedDefaults, batch_size: 3, gradient_accumulation_steps: 2 }
  assert.deepEqual(totalSteps({ ...args, max_steps: 14 }, 40), { steps: 14, epochs: 2 })
  assert.deepEqual(totalSteps({ ...args, num_train_epochs: 1.5 }, 40), { steps: 11, epochs: 11 / 7 })
  assert.equal(totalSteps({ ...args, num_train_epochs: 0.01 }, 40).steps, 1)
})
