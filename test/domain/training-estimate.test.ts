import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentedDefaults, totalSteps } from '../../src/domain/training-args.ts'
import { estimateSeconds, type PastRun, type Planned } from '../../src/domain/training-estimate.ts'

const run = { seconds: 30, steps: 100, rowsPerStep: 2, secondsPerStep: 0.2, tokensPerRow: 50 }

/** A run on a machine where a job takes 10 s, a step 0.1 s and a token of the step 0.001 s, each times `slowness`. */
function runOf({ steps, rowsPerStep, tokensPerRow }: Planned, slowness = 1): PastRun {
  const secondsPerStep = slowness * (0.1 + 0.001 * rowsPerStep * (tokensPerRow ?? 0))
  return { steps, rowsPerStep, tokensPerRow, secondsPerStep, seconds: slowness * 10 + steps * secondsPerStep }
}

const estimate = (past: PastRun[], planned: Planned) =>
  estimateSeconds(past, planned) ?? assert.fail('there is no estimate')

test('the same job again takes as long as the last one, and twice the steps twice the training', () => {
  assert.equal(estimate([run], run).likely, 30)
  assert.equal(estimate([run], { ...run, steps: 200 }).likely, 50)
  assert.equal(estimateSeconds([], run), null)
  const timeless = { ...run, seconds: 0, secondsPerStep: 0, tokensPerRow: 0 }
  assert.deepEqual(estimate([timeless], timeless), { low: 0, likely: 0, high: 0 })
})

test('the range of one run is wide, and equal runs make it narrow', () => {
  const widthOf = (count: number) => {
    const { low, high } = estimate(Array<PastRun>(count).fill(run), run)
    return high / low
  }
  assert.ok(widthOf(1) > 4 && widthOf(5) < 2 && widthOf(20) < 1.2, `${widthOf(1)}, ${widthOf(5)}, ${widthOf(20)}`)
})

test('without other sizes in the past, larger steps take between as long and as much longer', () => {
  const past = Array<PastRun>(20).fill(run)
  const larger = estimate(past, { ...run, rowsPerStep: 8 })
  assert.ok(larger.low <= 30 && larger.likely === 60 && larger.high >= 90, JSON.stringify(larger))
  assert.deepEqual(estimate(past, { ...run, tokensPerRow: 200 }), larger)
})

test('past runs of several sizes tell which part of a step follows its tokens', () => {
  const sizes = [1, 2, 4, 8, 16].map((rowsPerStep) => runOf({ steps: 100, rowsPerStep, tokensPerRow: 50 }))
  for (const planned of [
    { steps: 1000, rowsPerStep: 32, tokensPerRow: 50 },
    { steps: 50, rowsPerStep: 1, tokensPerRow: 20 },
  ]) {
    const { seconds } = runOf(planned)
    const { low, likely, high } = estimate([...sizes, ...sizes], planned)
    assert.ok(low < seconds && seconds < high, `${low} to ${high}, took ${seconds}`)
    assert.ok(likely / seconds > 0.75 && likely / seconds < 1.3, `estimated ${likely}, took ${seconds}`)
  }
})

test('rows are compared by number when the tokens of one side are unknown', () => {
  const uncounted = { ...run, tokensPerRow: null }
  assert.equal(estimate([uncounted], { ...run, tokensPerRow: 100 }).likely, 30)
  assert.equal(estimate([run, uncounted], { ...run, tokensPerRow: 100 }).likely, 30)
  assert.equal(estimate([run], { ...uncounted, rowsPerStep: 8 }).likely, 60)
})

test('the newest runs count most, and one slow run moves nothing', () => {
  const slow = { ...run, secondsPerStep: 0.4, seconds: 50 }
  const oldSlow = [...Array<PastRun>(6).fill(run), ...Array<PastRun>(14).fill(slow)]
  assert.equal(estimate(oldSlow, run).likely, 30)
  assert.equal(estimate([...Array<PastRun>(4).fill(run), slow], run).likely, 30)
})

test('the range holds four of five runs of a machine whose speed changes by half', () => {
  // Steps of the golden ratio spread the values evenly, the same in each run of the test.
  const even = (index: number, step: number) => (index * step) % 1
  const history = Array.from({ length: 120 }, (_, index) => {
    const rowsPerStep = 1 + Math.floor(even(index, 0.7548777) * 16)
    const steps = 50 + Math.floor(even(index, 0.5698403) * 500)
    return runOf({ steps, rowsPerStep, tokensPerRow: 50 }, Math.exp(0.8 * (even(index, 0.6180339) - 0.5)))
  })
  let held = 0
  for (let at = 1; at < history.length; at++) {
    const planned = history[at] ?? assert.fail('no run')
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
