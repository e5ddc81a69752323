import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { startProgressTimeout } from '../../src/inference/progress-timeout.ts'

const never = new AbortController().signal

test('time without an answer ends the work; an answer, or waiting for its turn, starts the time anew', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let isWaiting = true
  const late = () => new Error('late')
  const { signal, onAnswer } = startProgressTimeout(never, { timeoutMs: 1000, late, isWaiting: () => isWaiting })
  mock.timers.tick(1500)
  isWaiting = false
  mock.timers.tick(400)
  onAnswer()
  mock.timers.tick(999)
  assert.equal(signal.aborted, false)
  mock.timers.tick(1)
  assert.match(String(signal.reason), /late/)
})
