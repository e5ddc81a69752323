import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dueStop, type RunningAttempt } from '../../src/domain/attempt-limits.ts'

const minute = 60_000
const hour = 60 * minute
const limits = { timeSliceMs: 4 * hour, stallMs: 15 * minute, maxJobMs: null }
const attempt = (more: Partial<RunningAttempt>): RunningAttempt => ({
  phase: 'TRAINING MODEL',
  ranForMs: minute,
  jobRanForMs: minute,
  silentForMs: 1000,
  medianStepMs: 100,
  ...more,
})

test('an attempt that makes progress goes on until its slice is over, however slow its steps', () => {
  assert.equal(dueStop(attempt({ ranForMs: 4 * hour - 1 }), limits), null)
  assert.equal(dueStop(attempt({ ranForMs: 4 * hour }), limits), 'time_slice')
  assert.equal(dueStop(attempt({ silentForMs: 40 * minute, medianStepMs: minute }), limits), null)
})

test('silence beyond fifty steps and a quarter of an hour is a stall', () => {
  assert.equal(dueStop(attempt({ silentForMs: 15 * minute - 1 }), limits), null)
  assert.equal(dueStop(attempt({ silentForMs: 15 * minute }), limits), 'stalled')
  assert.equal(dueStop(attempt({ silentForMs: 50 * minute, medianStepMs: minute }), limits), 'stalled')
})

test('loading, saving, evaluating and the first steps may be silent for longer, but not for ever', () => {
  const quiet: Partial<RunningAttempt>[] = [
    { phase: 'LOADING DATA' },
    { phase: 'SAVING MODEL' },
    { phase: 'EVALUATING MODEL' },
    { medianStepMs: null },
  ]
  for (const more of quiet) {
    assert.equal(dueStop(attempt({ ...more, silentForMs: hour }), limits), null)
    assert.equal(dueStop(attempt({ ...more, silentForMs: 2 * hour }), limits), 'stalled')
  }
})

test('a slice ends only while it trains: elsewhere there is no checkpoint to go on from', () => {
  for (const phase of ['LOADING DATA', 'SAVING MODEL', 'EVALUATING MODEL'] as const)
    assert.equal(dueStop(attempt({ phase, ranForMs: 5 * hour }), limits), null)
})

test('the deadline is of the whole job and comes first', () => {
  const late = attempt({ jobRanForMs: 24 * hour, ranForMs: 5 * hour, silentForMs: hour })
  assert.equal(dueStop(late, { ...limits, maxJobMs: 24 * hour }), 'deadline')
  assert.equal(dueStop(attempt({ jobRanForMs: 24 * hour - 1 }), { ...limits, maxJobMs: 24 * hour }), null)
})
