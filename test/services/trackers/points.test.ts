import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pointsOfFirst } from '../../../src/services/trackers/points.ts'

const series = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`series_${at}`, at]))
const stored = (step: number, seriesCount: number) => ({
  at: new Date(step),
  row: { ...series(seriesCount), step, loss: 1, valid_loss: null, valid_rows: 8, remaining_time: 3 },
})

test('a call takes as many whole steps as its points allow, the loss last in each', () => {
  const steps = [stored(1, 3), stored(2, 3), stored(3, 3)]
  const { points, stepCount } = pointsOfFirst(steps, 11)
  assert.deepEqual([stepCount, points.length], [2, 8])
  assert.deepEqual(points[3], { key: 'loss', value: 1, timestamp: 1, step: 1 })
  assert.deepEqual(
    points.map(({ key }) => key).filter((key) => !/^series_\d$|^loss$/.test(key)),
    [],
    'what is missing and what is no series makes no point',
  )
  assert.equal(pointsOfFirst(steps, 12).stepCount, 3)
})

test('a step with more points than a call should have is taken alone, so that sending goes on', () => {
  assert.equal(pointsOfFirst([stored(1, 30), stored(2, 1)], 10).stepCount, 1)
  assert.deepEqual(pointsOfFirst([], 10), { points: [], stepCount: 0 })
})
