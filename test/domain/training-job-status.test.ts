import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isResumable,
  isTerminal,
  mayMove,
  parseStatus,
  phasesBetween,
  trainingJobStatuses,
} from '../../src/domain/training-job-status.ts'

test('a completed job never moves again; the other ends only back into the queue', () => {
  for (const from of trainingJobStatuses.filter(isTerminal))
    for (const to of trainingJobStatuses)
      assert.equal(mayMove(from, to), to === 'QUEUED' && isResumable(from), `${from} → ${to}`)
})

test('only a model that is being evaluated may complete', () => {
  assert.deepEqual(
    trainingJobStatuses.filter((from) => mayMove(from, 'COMPLETED')),
    ['EVALUATING MODEL'],
  )
})

test('the walk to a phase passes every state between, and never goes back', () => {
  assert.deepEqual(phasesBetween('QUEUED', 'SAVING MODEL'), ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL'])
  assert.deepEqual(phasesBetween('TRAINING MODEL', 'EVALUATING MODEL'), ['SAVING MODEL', 'EVALUATING MODEL'])
  assert.deepEqual(phasesBetween('SAVING MODEL', 'TRAINING MODEL'), [])
  assert.deepEqual(phasesBetween('EVALUATING MODEL', 'LOADING DATA'), [])
  assert.deepEqual(phasesBetween('COMPLETED', 'TRAINING MODEL'), [])
})

test('each step of every walk is a move of the table', () => {
  let from: (typeof trainingJobStatuses)[number] = 'QUEUED'
  for (const to of phasesBetween('QUEUED', 'EVALUATING MODEL')) {
    assert.ok(mayMove(from, to), `${from} → ${to}`)
    from = to
  }
})

test('both spellings of cancelled are one status', () => {
  assert.equal(parseStatus('CANCELED'), 'CANCELLED')
  assert.equal(parseStatus('CANCELLED'), 'CANCELLED')
  assert.equal(parseStatus('cancelled'), undefined)
})
