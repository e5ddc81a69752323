import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chartOf } from '../../src/cli/remote/chart.ts'

test('a chart falls as the losses do, and names its ends', () => {
  const points = Array.from({ length: 8 }, (_, i) => ({ step: 10 * (i + 1), loss: 8 - i }))
  assert.equal(
    chartOf(points, { height: 2 }),
    ['8.000 │█▆▄▂', '1.000 │████▇▅▃▁', '       10    80', 'step 80, loss 1.0000'].join('\n'),
  )
})

test('a long run fits the width, and equal losses or none are no error', () => {
  const many = Array.from({ length: 5000 }, (_, i) => ({ step: i, loss: 2 }))
  for (const line of chartOf(many, { width: 40 }).split('\n')) assert.ok(line.length <= 48, line)
  assert.equal(chartOf([]), 'No losses yet.')
  assert.match(chartOf([{ step: 1, loss: 3 }]), /step 1, loss 3\.0000/)
})
