import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invalidDataReason, unreadNote, type DatasetReport } from '../../src/domain/dataset-report.ts'

const reportOf = (badRows: DatasetReport['badRows']) =>
  ({ rowCount: 9, badRowCount: badRows.length, badRows }) as unknown as DatasetReport

test('a long reason is given once, a short reason for each of the first five rows', () => {
  const rows = (reason: string) => [2, 3, 4, 5, 6, 7].map((line) => ({ line, field: 'row', reason }))
  const long = `has no text to learn: ${'x'.repeat(100)}`
  assert.equal(
    invalidDataReason('training data', reportOf(rows(long))),
    `The training data cannot be used: 6 of 9 rows are bad: line 2: row: ${long}; line 3: the same; line 4: the same; line 5: the same; line 6: the same; and 1 more.`,
  )
  assert.match(invalidDataReason('data', reportOf(rows('is bad'))) ?? '', /line 2: row: is bad; line 3: row: is bad;/)
  const [first, ...others] = rows(long)
  const mixed = [...(first ? [first] : []), { line: 3, field: 'output', reason: 'is empty' }, ...others.slice(1, 2)]
  assert.equal(invalidDataReason('data', reportOf(mixed))?.split(long).length, 3)
})

test('the note on unread fields names five fields, their rows and the next step', () => {
  assert.equal(unreadNote('training data', { unreadFields: [] }), null)
  const unreadFields = [1, 2, 3, 4, 5, 6].map((rows) => ({ field: `f"${rows}`, rows, line: rows + 1 }))
  assert.equal(
    unreadNote('training data', { unreadFields }),
    String.raw`The training data has fields that training does not read: "f\"1" (1 row, first in line 2), "f\"2" (2 rows, first in line 3), "f\"3" (3 rows, first in line 4), "f\"4" (4 rows, first in line 5), "f\"5" (5 rows, first in line 6), and 1 more. If the model should learn them, put their text into a field that is read.`,
  )
})
