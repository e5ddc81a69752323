import assert from 'node:assert/strict'
import { test } from 'node:test'
import { invalidDataReason, trainingDataProblem, type DatasetReport } from '../../src/domain/dataset-report.ts'
import { unreadNote } from '../../src/domain/unread-note.ts'

type Group = DatasetReport['badRowGroups'][number]

const reportOf = (badRowGroups: Group[], more: Partial<DatasetReport> = {}) => {
  const badRowCount = badRowGroups.reduce((sum, { rowCount }) => sum + rowCount, 0)
  return { rowCount: 99, badRowCount, badRowGroups, unreadRest: null, ...more } as unknown as DatasetReport
}
const group = (line: number, rowCount: number): Group => ({
  ...{ field: 'input', reason: `is bad ${line}`, rowCount },
  lines: Array.from({ length: Math.min(rowCount, 5) }, (_, row) => line + row),
})

test('a refusal says each reason once, with its first line and the number of its rows', () => {
  const groups = [group(3, 62), group(9, 1), ...[10, 11, 12, 13].map((line) => group(line, 2))]
  assert.equal(
    invalidDataReason('data set', reportOf(groups)),
    'The data set cannot be used: 71 of 99 rows are bad: line 3: input: is bad 3 (62 rows); line 9: input: is bad 9; line 10: input: is bad 10 (2 rows); line 11: input: is bad 11 (2 rows); line 12: input: is bad 12 (2 rows); and 2 more.',
  )
})

test('bad rows are left out only where good ones remain, the file was read to its end, and they can be listed', () => {
  const problem = (report: DatasetReport, isSkipping = true) => trainingDataProblem(report, { isSkipping })
  const some = reportOf([group(3, 2)])
  assert.equal(problem(some), null)
  assert.match(
    problem(some, false) ?? '',
    /\(2 rows\)\. Mend the file, or leave the bad rows out \(skip_bad_rows\) to train on the other 97 rows\.$/,
  )
  const refused: [DatasetReport, RegExp][] = [
    [reportOf([], { rowCount: 0 }), /has no rows\.$/],
    [
      reportOf([group(3, 99)]),
      /even without its bad rows: no good row remains: line 3: input: is bad 3 \(99 rows\)\.$/,
    ],
    [
      reportOf([group(3, 1)], { unreadRest: { line: 3, field: 'row', reason: 'is cut off' } }),
      /: line 3: row: is cut off, and the rows after this line were not read\.$/,
    ],
    [reportOf([group(3, 100_001)], { rowCount: 1e6 }), /a job leaves out at most 100000: line 3/],
  ]
  for (const [report, reason] of refused) {
    assert.match(problem(report) ?? '', reason)
    assert.doesNotMatch(problem(report, false) ?? '', /skip_bad_rows/)
  }
})

test('supervised training on judged answers is told of the method that reads the judgement', () => {
  const unreadFields = [{ field: 'label', rows: 2, line: 1 }]
  assert.match(
    unreadNote('training data', { unreadFields }) ?? '',
    /"label" is for the method kto: .* Choose kto to learn/,
  )
  assert.doesNotMatch(unreadNote('training data', { unreadFields, method: 'dpo' }) ?? '', /kto/)
})

test('the note on unread fields names five fields, their rows and the next step', () => {
  assert.equal(unreadNote('training data', { unreadFields: [] }), null)
  const unreadFields = [1, 2, 3, 4, 5, 6].map((rows) => ({ field: `f"${rows}`, rows, line: rows + 1 }))
  assert.equal(
    unreadNote('training data', { unreadFields }),
    String.raw`The training data has fields that training does not read: "f\"1" (1 row, first in line 2), "f\"2" (2 rows, first in line 3), "f\"3" (3 rows, first in line 4), "f\"4" (4 rows, first in line 5), "f\"5" (5 rows, first in line 6), and 1 more. If the model should learn them, put their text into a field that is read.`,
  )
})
