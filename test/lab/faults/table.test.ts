import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outcomesOf, quantile, tableOf } from './table.ts'
import type { Records } from './records.ts'
import type { Injection } from './world.ts'

const startMs = Date.parse('2026-11-20T10:00:00Z')
const at = (second: number) => new Date(startMs + second * 1000).toISOString().slice(0, -1) + '000'
const injection = (second: number): Injection => ({
  fault: 'kill api',
  aim: 'QUEUED',
  isOfOneJob: false,
  recovery: 'job',
  atMs: startMs + second * 1000,
  overMs: startMs + second * 1000,
})

test('the table has a row for each state that a fault met, with ends, tries and recovery', () => {
  const statuses = ['CREATED', 'QUEUED', 'LOADING DATA', 'COMPLETED'] as const
  const records: Records = {
    events: statuses.map((status, index) => ({ at: at(index * 10), kind: 'status', status, reason: null })),
    attempts: [
      {
        attempt: 1,
        mode: 'train',
        cause: 'finished',
        message: null,
        from_step: 0,
        created_at: at(12),
        ended_at: at(30),
      },
    ],
  }
  const early = injection(-1)
  const met = [early, injection(11), injection(21), injection(25), injection(40)].map((each, index) => ({
    injection: each,
    progress: 0,
    recoveryMs: index === 2 ? null : 2000 * (index + 1),
    isMeasured: true,
  }))
  const outcomes = outcomesOf([{ id: 1, hits: met }], new Map([[1, records]]))
  const table = tableOf(outcomes, [{ atMs: 0, what: 'wrong', injection: early }])
  assert.deepEqual(table.split('\n').slice(2), [
    '| **kill api** | all | 4 | 4 COMPLETED | 0.5, at most 1 | 1 | 3 | 4.0 | 8.0 | 8.0 | 8.0 |',
    '|  | CREATED | 1 | 1 COMPLETED | 1.0, at most 1 | 0 | 1 | 2.0 | 2.0 | 2.0 | 2.0 |',
    '|  | QUEUED | 1 | 1 COMPLETED | 1.0, at most 1 | 1 | 1 | 4.0 | 4.0 | 4.0 | 4.0 |',
    '|  | LOADING DATA | 2 | 2 COMPLETED | 0.0, at most 0 | 0 | 1 | 8.0 | 8.0 | 8.0 | 8.0 |',
  ])
})

test('a quantile is the smallest value that so many do not exceed', () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1)
  assert.deepEqual(
    [0.5, 0.9, 0.99, 1].map((share) => quantile(values, share)),
    [50, 90, 99, 100],
  )
  assert.equal(quantile([], 0.5), null)
})
