import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricOf, placeWithin, pointText, seriesOf, type Metric } from '../../console/src/domain/curve.ts'

const metric = (step: number, more: Partial<Metric> = {}): Metric => ({ step, loss: 1 / step, ...more })

test('a point of the curve has its step, its losses, its rate and its time', () => {
  const metrics = [
    metric(10, { valid_loss: 2, learning_rate: 0.0009 }),
    metric(20, { learning_rate: 0.00045678, epoch: 0.5, grad_norm: 1.23456 }),
  ]
  assert.equal(
    pointText(metrics, 1, [5, 75]),
    'step 20 · loss 0.05000 · held-out loss 2.000 · learning rate 0.000457 · epoch 0.5 · 1 min 15 s',
  )
  assert.match(pointText(metrics, 1, [], 'grad_norm'), /· grad norm 1\.235 ·/)
  assert.equal(pointText([], 0, []), '')
})

test('the figures of a method are series of the curve', () => {
  const told = { ...metric(10), series: { 'rewards/margins': 0.5 } }
  assert.deepEqual(seriesOf([metricOf(told)]), ['rewards/margins', 'loss'])
})

test('keys stay within the part of the curve that is shown', () => {
  const x = [10, 20, 30, 40]
  assert.deepEqual(
    [0, 1, 2, 9].map((place) => placeWithin(x, { min: 15, max: 35 }, place)),
    [1, 1, 2, 2],
  )
})
