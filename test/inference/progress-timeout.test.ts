import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { whileAnswered } from '../../src/inference/progress-timeout.ts'

const signal = new AbortController().signal

test('time without an answer ends the work; an answer, or waiting for its turn, starts the time anew', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  let isWaiting = true
  const answered = Promise.withResolvers<() => void>()
  const late = () => new Error('late')
  const work = whileAnswered(signal, { timeoutMs: 1000, late, isWaiting: () => isWaiting }, (own, onAnswer) => {
    answered.resolve(onAnswer)
    return new Promise((_resolve, reject) => own.addEventListener('abort', () => reject(own.reason as Error)))
  })
  let isEnded = false
  const ended = assert.rejects(work, /late/).finally(() => (isEnded = true))
  const onAnswer = await answered.promise
  mock.timers.tick(1500)
  isWaiting = false
  mock.timers.tick(400)
  onAnswer()
  mock.timers.tick(999)
  await Promise.resolve()
  assert.equal(isEnded, false)
  mock.timers.tick(1)
  await ended
})
