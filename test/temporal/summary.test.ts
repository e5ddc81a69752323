import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summaryOf } from '../../src/temporal/summary.ts'

test('names job, data set, account and base model in one line', () =>
  assert.equal(
    summaryOf(['Job 7: pip@2', 'products.jsonl', 'research', 'anneal-2m']),
    'Job 7: pip@2 · products.jsonl · research · anneal-2m',
  ))

test('shortens names of any length and script to what Temporal takes', () => {
  const long = ['pip\n'.repeat(100), '名前'.repeat(200), '"\\'.repeat(100), '\u0001🙂'.repeat(100)]
  const summary = summaryOf(long)
  assert.ok(Buffer.byteLength(JSON.stringify(summary)) <= 200)
  assert.doesNotMatch(summary, /\n|\uFFFD/)
  assert.equal(summary.split(' · ').length, 4)
})
