import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { whileAnswered } from '../../src/inference/progress-timeout.ts'

const never = new AbortController().signal
const limit = { timeoutMs: 1000, late: () => new Error('no answer in time') }

/** Work that ends only when it is aborted. */
function startWork(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let answer = () => {}
  const ended = whileAnswered(never, limit, (signal, onAnswer) => {
    answer = onAnswer
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  })
  let error: Error | undefined
  ended.catch((reason: Error) => (error = reason))
  return { answer: () => answer(), error: () => error, ended }
}

test('each answer of an engine starts the time again', async (t) => {
  const work = startWork(t)
  for (let n = 0; n < 5; n++) {
    t.mock.timers.tick(999)
    work.answer()
  }
  t.mock.timers.tick(999)
  await Promise.resolve()
  assert.equal(work.error(), undefined)
  t.mock.timers.tick(1)
  await assert.rejects(work.ended, /no answer in time/)
})

test('an engine without any answer ends the work in time', async (t) => {
  const work = startWork(t)
  t.mock.timers.tick(1000)
  await assert.rejects(work.ended, /no answer in time/)
})
