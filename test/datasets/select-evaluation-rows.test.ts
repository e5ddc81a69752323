import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint } from '../../src/datasets/validate-rows.ts'
import { createEvaluationSelection } from '../../src/datasets/select-evaluation-rows.ts'

function select(distinct: number, repeats = 1) {
  const selection = createEvaluationSelection()
  for (let repeat = 0; repeat < repeats; repeat++)
    for (let row = 0; row < distinct; row++) selection.add(fingerprint({ input: `q${row}`, output: `a${row}` }))
  return selection.selected()
}

test('sets nothing aside below 200 distinct rows, 5 % from there on, 100 at most', () => {
  assert.deepEqual(
    [10, 199, 200, 219, 1000, 2000, 5000].map((rows) => select(rows).size),
    [0, 0, 10, 10, 50, 100, 100],
  )
})

test('duplicates do not count, and the choice does not depend on their number or order', () => {
  assert.equal(select(199, 5).size, 0)
  assert.deepEqual(select(400, 3), select(400))
})
