import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTtlCache } from '../../src/services/ttl-cache.ts'

test('keeps an entry forgotten when an older answer arrives later', async () => {
  const clock = { nowMs: 0 }
  const cache = createTtlCache<string>(() => clock.nowMs)
  assert.equal(await cache.get('key', () => Promise.resolve('old')), 'old')
  clock.nowMs = 500
  const slow = Promise.withResolvers<string>()
  assert.equal(await cache.get('key', () => slow.promise), 'old')
  cache.forget()
  slow.resolve('older than the news')
  await slow.promise
  assert.equal(await cache.get('key', () => Promise.resolve('new')), 'new')
})

test('a question that failed is asked again by the next', async () => {
  const cache = createTtlCache<string>()
  await assert.rejects(cache.get('key', () => Promise.reject(new Error('away'))))
  assert.equal(await cache.get('key', () => Promise.resolve('back')), 'back')
})
