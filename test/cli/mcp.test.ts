import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerText } from '../../src/cli/mcp/tool.ts'

test('an answer is bounded, and says what it leaves out', () => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({ index, text: 'x'.repeat(10_000) }))
  const text = answerText({ rows, next: 7 })
  assert.ok(text.length <= 16_000, String(text.length))
  const { rows: shown, next } = JSON.parse(text) as { rows: unknown[]; next: number }
  assert.equal(next, 7)
  assert.match(String(shown.at(-1)), /^… \(\d+ more\)$/)
  assert.match((shown[0] as { text: string }).text, /… \(\d+ more characters\)$/)
})

test('a short answer is whole', () => {
  const value = { a: [1, 'two', null], b: { c: true } }
  assert.deepEqual(JSON.parse(answerText(value)), value)
})
