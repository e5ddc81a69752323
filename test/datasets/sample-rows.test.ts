import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRowSelection } from '../../src/datasets/sample-rows.ts'
import { fingerprint } from '../../src/datasets/validate-rows.ts'

const rows = Array.from({ length: 300 }, (_, index) => ({ input: `q${index}`, output: `a${index}` }))

function chosen(from: typeof rows, maxRows: number): string[] {
  const selection = createRowSelection(maxRows)
  for (const row of from) selection.add(row, fingerprint(row))
  return selection.rows().map(({ input }) => input)
}

test('chooses the same distinct rows in any order, and keeps the order of the file', () => {
  const some = chosen(rows, 40)
  assert.equal(some.length, 40)
  assert.deepEqual(
    some,
    rows.map(({ input }) => input).filter((input) => some.includes(input)),
  )
  assert.deepEqual(chosen(rows.toReversed(), 40).toReversed(), some)
  assert.deepEqual(
    chosen([...rows, ...rows], 1000),
    rows.map(({ input }) => input),
  )
})

const user = { role: 'user' as const, content: 'Who?' }

test('a conversation keeps the messages before its last answer', () => {
  const selection = createRowSelection(10)
  const parameters = { type: 'object' }
  const tools = [{ type: 'function', function: { name: 'find', parameters } }]
  const conversation = { messages: [user, { role: 'assistant' as const, content: 'Ann.' }], learned: [1], tools }
  selection.add({ input: 'user: Who?', output: 'Ann.', conversation }, 'p')
  const chat = { messages: [user], tools: [{ name: 'find', parameters }] }
  assert.deepEqual(selection.rows(), [{ input: 'user: Who?', expected: 'Ann.', chat }])
})

test('refuses an answer that calls a function, rows without an input, and too much text', () => {
  const selection = createRowSelection(10)
  const call = { role: 'assistant' as const, content: '', calls: [{ id: 'a', name: 'find', arguments: '{}' }] }
  const conversation = { messages: [user, call], learned: [1] }
  assert.throws(() => selection.add({ input: 'a', output: 'b', conversation }, 'p'), /answer of row 1 calls a function/)
  assert.throws(() => selection.add({ input: '', output: 'a' }, 'p'), /Row 2 has no input/)
  assert.throws(() => selection.add({ input: 'x'.repeat(17 << 20), output: '' }, 'p'), /Lower max_rows/)
})
