// From how a run ended to why its attempt did.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeAttemptEnd as describeEnd } from '../../activities/attempt-cause.ts'
import type { EndState, FailureReason } from '../../src/compute/run.ts'
import type { Attempt } from '../../src/domain/training-job.ts'

const attempt = (more: Partial<Attempt> = {}) =>
  ({ cause: null, message: null, exitCode: null, reportedCause: null, claimedAt: new Date(), ...more }) as Attempt
const describeAttemptEnd = (end: EndState, of: Attempt) => describeEnd(end, of, { isCancelled: false })
const failed = (reason: FailureReason, exitCode: number | null): EndState => ({
  state: 'failed',
  uid: 'u',
  exitCode,
  signal: null,
  reason,
  message: 'As the cluster says.',
})

test('the exit code tells the cause of a program that ended by itself or by a signal', () => {
  const codes = [65, 69, 70, 71, 77, 78, 143, 137, 1]
  assert.deepEqual(
    codes.map((code) => describeAttemptEnd(failed('exited', code), attempt()).cause),
    [
      'data_error',
      'model_unavailable',
      'code_error',
      'out_of_memory',
      'fenced',
      'unsupported_runtime',
      'killed',
      'killed',
      'killed',
    ],
  )
  // SIGTERM: never the fault of the job's own program.
  assert.equal(describeAttemptEnd(failed('killed', 143), attempt()).cause, 'killed')
  assert.equal(describeAttemptEnd(failed('killed', null), attempt()).cause, 'killed')
})

test('keeps the reason of a cluster apart from the exit code', () => {
  for (const [reason, cause] of [
    ['out_of_memory', 'out_of_memory'],
    ['out_of_disk', 'out_of_disk'],
    ['evicted', 'evicted'],
    ['preempted', 'preempted'],
    ['node_lost', 'node_lost'],
    ['deadline_exceeded', 'deadline'],
    ['image_unavailable', 'image_unavailable'],
    ['lost', 'lost'],
  ] as const)
    assert.deepEqual(describeAttemptEnd(failed(reason, 137), attempt()), {
      cause,
      exitCode: 137,
      message: 'As the cluster says.',
    })
})

test('a run that is gone was lost, or never began', () => {
  assert.equal(describeAttemptEnd({ state: 'gone' }, attempt()).cause, 'lost')
  assert.equal(describeAttemptEnd({ state: 'gone' }, attempt({ claimedAt: null })).cause, 'control_plane')
})

test('keeps a recorded cause, unless the program finished after all', () => {
  const stalled = attempt({ cause: 'stalled', message: 'Silent.' })
  const ended = { cause: 'stalled', exitCode: 137, message: 'Silent.' }
  assert.deepEqual(describeAttemptEnd(failed('killed', 137), stalled), ended)
  assert.equal(describeAttemptEnd({ state: 'gone' }, attempt({ cause: 'data_error', exitCode: 65 })).exitCode, 65)
  assert.equal(describeAttemptEnd({ state: 'succeeded', uid: 'u' }, stalled).cause, 'finished')
})

test("the program's own sentence comes before the cluster's", () => {
  const reported = attempt({ reportedCause: 'code_error', message: 'The loss is not a number.' })
  assert.equal(describeAttemptEnd(failed('exited', 70), reported).message, 'The loss is not a number.')
})

test('what the service stops after a cancel was cancelled; what ended before stands', () => {
  const cause = (end: EndState, of = attempt()) => describeEnd(end, of, { isCancelled: true }).cause
  const ends: EndState[] = [failed('killed', 143), failed('killed', null), failed('exited', 143), { state: 'gone' }]
  assert.deepEqual(
    ends.map((end) => cause(end)),
    ends.map(() => 'cancelled'),
  )
  assert.equal(cause({ state: 'gone' }, attempt({ claimedAt: null })), 'cancelled')
  assert.equal(cause({ state: 'succeeded', uid: 'u' }), 'finished')
  assert.equal(cause(failed('exited', 71)), 'out_of_memory')
  assert.equal(cause(failed('killed', 143), attempt({ cause: 'time_slice' })), 'time_slice')
})
