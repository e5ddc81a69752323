import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecentAnswers } from '../../src/services/ttl-cache.ts'

test('what was forgotten stays so, though an answer from before comes in later', async () => {
  const clock = { nowMs: 0 }
  const recent = createRecentAnswers<string>(() => clock.nowMs)
  assert.equal(await recent.get('key', () => Promise.resolve('old')), 'old')
  clock.nowMs = 500
  const slow = Promise.withResolvers<string>()
  assert.equal(await recent.get('key', () => slow.promise), 'old')
  recent.forget()
  slow.resolve('older than the news')
  await slow.promise
  assert.equal(await recent.get('key', () => Promise.resolve('new')), 'new')
})

test('a question that failed is asked again by the next', async () => {
  const recent = createRecentAnswers<string>()
  await assert.rejects(recent.get('key', () => Promise.reject(new Error('away'))))
  assert.equal(await recent.get('key', () => Promise.resolve('back')), 'back')
})
