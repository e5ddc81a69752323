import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fingerprint } from '../../src/datasets/validate-rows.ts'
import { createEvaluationSelection, selectedOf, trainedRowCount } from '../../src/datasets/select-evaluation-rows.ts'

const select = (distinct: number, repeats = 1) => selectedOf([selectionOf(distinct, repeats)])

function selectionOf(distinct: number, repeats = 1, name = '') {
  const selection = createEvaluationSelection()
  for (let repeat = 0; repeat < repeats; repeat++)
    for (let row = 0; row < distinct; row++) selection.add(fingerprint({ input: `${name}q${row}`, output: `a${row}` }))
  return selection
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

test('of several data sets each sets 5 % aside, 100 rows together at most, from 200 rows of all on', () => {
  const sets = (...rows: number[]) => rows.map((count, index) => selectionOf(count, 1, `${index} `))
  const sizes = [[100, 99], [100, 100], [1000, 20], [2000, 3000], Array.from({ length: 16 }, () => 1000)]
  assert.deepEqual(
    sizes.map((rows) => selectedOf(sets(...rows)).size),
    [0, 10, 51, 100, 96],
  )
  for (const rows of sizes) {
    const total = rows.reduce((sum, count) => sum + count, 0)
    const left = trainedRowCount(rows.map((rowCount) => ({ rowCount, duplicateCount: 0 })))
    assert.equal(left, total - selectedOf(sets(...rows)).size)
  }
})
