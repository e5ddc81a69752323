import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attemptCauses, causeOfExit } from '../../src/domain/attempt-cause.ts'
import { decideNext, decisiveOutcomes, type AttemptOutcome } from '../../src/domain/attempt-outcome.ts'

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

test('a saved and evaluated model completes the job with any exit code', () => {
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

const interruptions = ['killed', 'lost', 'preempted', 'evicted', 'node_lost', 'peer_lost'] as const

test('an interruption goes on, counts, and backs off only when it repeats without a new checkpoint', () => {
  for (const cause of interruptions) {
    const again = { next: 'relaunch', mode: 'train', counts: true } as const
    assert.deepEqual(decideNext([outcome({ cause })], plenty), { ...again, backOffMs: 0 })
    assert.deepEqual(decideNext(many(3, { cause }), plenty), { ...again, backOffMs: 4000 })
    const progressing = decideNext(many(50, { cause, newCheckpoint: true, hasCheckpoint: true }), plenty)
    assert.deepEqual(progressing, { ...again, backOffMs: 0 })
  }
})

test('ten interruptions of any kind in a row without a new checkpoint stop the job', () => {
  const mixed = [...interruptions, ...interruptions].slice(-10).map((cause) => outcome({ cause }))
  assert.equal(decideNext(mixed.slice(1), plenty).next, 'relaunch')
  const stopped = decideNext(mixed, plenty)
  assert.ok(stopped.next === 'fail' && stopped.reason === 'peer_lost')
})

test('the end of a time slice counts and never waits longer', () => {
  const sliced = outcome({ cause: 'time_slice', newCheckpoint: true, hasCheckpoint: true })
  const again = { next: 'relaunch', mode: 'train', counts: true, backOffMs: 0 }
  assert.deepEqual(decideNext([outcome({}), outcome({}), sliced], plenty), again)
  assert.deepEqual(decideNext(many(3, { cause: 'time_slice' }), plenty), again)
})

test('the same fault twice in a row without a new checkpoint stops with its diagnosis', () => {
  for (const cause of ['out_of_memory', 'code_error', 'stalled'] as const) {
    assert.equal(decideNext([outcome({ cause })], plenty).next, 'relaunch')
    const stopped = decideNext(many(2, { cause, message: 'CUDA out of memory.' }), plenty)
    assert.deepEqual(stopped, { next: 'fail', reason: cause, message: 'CUDA out of memory.' })
    assert.equal(decideNext([outcome({ cause }), outcome({}), outcome({ cause })], plenty).next, 'relaunch')
    assert.equal(decideNext([outcome({ cause }), outcome({ cause, newCheckpoint: true })], plenty).next, 'relaunch')
  }
})

test('a trainer that says it finished and saved nothing is tried once more, then it is a bug', () => {
  assert.equal(decideNext([outcome({ cause: 'finished' })], plenty).next, 'relaunch')
  const stopped = decideNext(many(2, { cause: 'finished' }), plenty)
  assert.ok(stopped.next === 'fail' && stopped.reason === 'code_error')
})

test('out of time: the saved model or a checkpoint is published; without both the job fails', () => {
  const late = { cause: 'deadline', message: 'Late.' } as const
  assert.deepEqual(decideNext([outcome(late)], plenty), { next: 'fail', reason: 'deadline', message: 'Late.' })
  for (const more of [{ hasCheckpoint: true }, { modelSaved: true }]) {
    const decision = decideNext([outcome({ ...late, ...more })], plenty)
    assert.ok(decision.next === 'complete_partially' && decision.reason === 'deadline')
  }
})

test('graders that fail end the job with what it has learned; graders that are away cost no resume', () => {
  const failed = { cause: 'grader_failed', message: 'No scores.' } as const
  assert.equal(decideNext([outcome(failed)], plenty).next, 'fail')
  const decision = decideNext([outcome({ ...failed, hasCheckpoint: true })], plenty)
  assert.ok(decision.next === 'complete_partially' && decision.reason === 'grader_failed')
  const away = decideNext(many(3, { cause: 'grader_away' }), { resumesLeft: 0 })
  assert.ok(away.next === 'relaunch' && !away.counts && away.backOffMs === 4000)
})

test('out of resumes: a checkpoint is published; without a checkpoint the job fails', () => {
  const decision = decideNext([outcome({ hasCheckpoint: true })], { resumesLeft: 0 })
  assert.ok(decision.next === 'complete_partially' && decision.reason === 'resume_limit_reached')
  assert.equal(decideNext([outcome({})], { resumesLeft: 0 }).next, 'fail')
})

test('fails at once for a cause that no repeat can mend', () => {
  for (const cause of ['data_error', 'model_unavailable', 'image_unavailable', 'unsupported_runtime'] as const)
    assert.deepEqual(decideNext([outcome({ cause })], plenty), { next: 'fail', reason: cause, message: 'Ended.' })
})

test('relaunches an attempt that never ran, and does not count it', () => {
  for (const cause of ['fenced', 'control_plane'] as const) {
    const decision = decideNext([outcome({ cause })], { resumesLeft: 0 })
    assert.ok(decision.next === 'relaunch' && !decision.counts)
    assert.equal(decideNext(many(10, { cause }), plenty).next, 'fail')
  }
})

test('an exit code has one cause, any signal is a kill, none at all is a loss', () => {
  assert.deepEqual([0, 65, 69, 70, 71, 75, 77, 78, 137, 143, 1, null].map(causeOfExit), [
    'finished',
    'data_error',
    'model_unavailable',
    'code_error',
    'out_of_memory',
    'peer_lost',
    'fenced',
    'unsupported_runtime',
    'killed',
    'killed',
    'killed',
    'lost',
  ])
})

test('a run that continues another decides as if it had every outcome', () => {
  let random = 1
  const below = (bound: number) => (random = (random * 48_271) % 2_147_483_647) % bound
  const drawn = () =>
    outcome({
      cause: attemptCauses[below(attemptCauses.length)] ?? 'killed',
      modelSaved: below(8) === 0,
      newCheckpoint: below(4) === 0,
      hasCheckpoint: below(2) === 0,
    })
  for (let list = 0; list < 2000; list++) {
    const before = Array.from({ length: 1 + below(30) }, drawn)
    const after = Array.from({ length: below(4) }, drawn)
    const kept = decisiveOutcomes(before)
    assert.deepEqual(kept.at(-1), before.at(-1))
    assert.deepEqual(decideNext([...kept, ...after], plenty), decideNext([...before, ...after], plenty))
  }
  assert.equal(decisiveOutcomes(many(1000, { newCheckpoint: true })).length, 1)
})
