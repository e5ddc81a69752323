import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attemptCauses, causeOfExit, decideNext, type AttemptOutcome } from '../../src/domain/attempt-outcome.ts'

const outcome = (more: Partial<AttemptOutcome>): AttemptOutcome => ({
  cause: 'killed',
  message: 'Ended.',
  mode: 'train',
  modelSaved: false,
  evaluated: false,
  newCheckpoint: false,
  hasCheckpoint: false,
  ...more,
})
const many = (count: number, more: Partial<AttemptOutcome>) => Array.from({ length: count }, () => outcome(more))
const plenty = { resumesLeft: 1000 }

test('a saved and evaluated model completes the job, whatever the exit code', () => {
  for (const cause of attemptCauses)
    assert.deepEqual(decideNext([outcome({ cause, modelSaved: true, evaluated: true })], plenty), { next: 'complete' })
})

test('a saved model whose evaluation failed is evaluated again without counting, three times in all', () => {
  const failed = { cause: 'code_error', modelSaved: true } as const
  for (const tries of [1, 2]) {
    const decision = decideNext(many(tries, failed), { resumesLeft: 0 })
    assert.ok(decision.next === 'relaunch' && decision.mode === 'evaluate' && !decision.counts)
  }
  const decision = decideNext(many(3, failed), plenty)
  assert.ok(decision.next === 'complete_partially' && decision.reason === 'evaluation_failed')
})

test('an evaluation that is only interrupted goes on beyond three tries', () => {
  const interrupted = decideNext(many(9, { modelSaved: true }), { resumesLeft: 0 })
  assert.ok(interrupted.next === 'relaunch' && interrupted.mode === 'evaluate')
  assert.equal(decideNext(many(10, { modelSaved: true }), plenty).next, 'complete_partially')
})

test('an interruption goes on, counts, and backs off only when it repeats without a new checkpoint', () => {
  assert.deepEqual(decideNext([outcome({})], plenty), { next: 'relaunch', mode: 'train', counts: true, backOffMs: 0 })
  const third = decideNext(many(3, {}), plenty)
  assert.ok(third.next === 'relaunch' && third.backOffMs === 4000)
  const progressing = decideNext(many(50, { newCheckpoint: true, hasCheckpoint: true }), plenty)
  assert.deepEqual(progressing, { next: 'relaunch', mode: 'train', counts: true, backOffMs: 0 })
})

test('ten interruptions in a row without a new checkpoint stop the job', () => {
  assert.equal(decideNext(many(9, {}), plenty).next, 'relaunch')
  assert.equal(decideNext(many(10, {}), plenty).next, 'fail')
})

test('the same error twice in a row without a new checkpoint stops with its diagnosis', () => {
  for (const cause of ['out_of_memory', 'code_error'] as const) {
    assert.equal(decideNext([outcome({ cause })], plenty).next, 'relaunch')
    const stopped = decideNext(many(2, { cause, message: 'CUDA out of memory.' }), plenty)
    assert.deepEqual(stopped, { next: 'fail', reason: cause, message: 'CUDA out of memory.' })
    assert.equal(decideNext([outcome({ cause }), outcome({}), outcome({ cause })], plenty).next, 'relaunch')
    assert.equal(decideNext([outcome({ cause }), outcome({ cause, newCheckpoint: true })], plenty).next, 'relaunch')
  }
})

test('out of resumes: a checkpoint is published, without one the job fails', () => {
  const decision = decideNext([outcome({ hasCheckpoint: true })], { resumesLeft: 0 })
  assert.ok(decision.next === 'complete_partially' && decision.reason === 'resume_limit_reached')
  assert.equal(decideNext([outcome({})], { resumesLeft: 0 }).next, 'fail')
})

test('what no repeat can mend fails at once', () => {
  for (const cause of ['data_error', 'model_unavailable', 'unsupported_runtime'] as const)
    assert.deepEqual(decideNext([outcome({ cause })], plenty), { next: 'fail', reason: cause, message: 'Ended.' })
})

test('a refused claim runs again and does not count', () => {
  const decision = decideNext([outcome({ cause: 'fenced' })], { resumesLeft: 0 })
  assert.ok(decision.next === 'relaunch' && !decision.counts)
})

test('an exit code has one cause, any signal is a kill, none at all is a loss', () => {
  assert.deepEqual([0, 65, 69, 70, 71, 77, 78, 137, 143, 1, null].map(causeOfExit), [
    'finished',
    'data_error',
    'model_unavailable',
    'code_error',
    'out_of_memory',
    'fenced',
    'unsupported_runtime',
    'killed',
    'killed',
    'killed',
    'lost',
  ])
})
