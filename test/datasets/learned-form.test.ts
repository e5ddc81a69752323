import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DatasetRow } from '../../src/datasets/dataset-row.ts'
import { createFormCount, createSystemMessageVote } from '../../src/datasets/learned-form.ts'

const pair: DatasetRow = { input: 'a', output: 'b' }
const text: DatasetRow = { input: '', output: 'b' }
const talk = (system: string | null): DatasetRow => ({
  ...pair,
  conversation: {
    messages: [
      ...(system === null ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
    ],
    learned: [system === null ? 1 : 2],
  },
})

test('the form of a data set is that of most rows', () => {
  const formOf = (...rows: DatasetRow[]) => {
    const count = createFormCount()
    for (const row of rows) count.add(row)
    return count.form()
  }
  assert.equal(formOf(), null)
  assert.equal(formOf(text, text, pair), 'texts')
  assert.equal(formOf(text, pair, pair, talk(null)), 'pairs')
  assert.equal(formOf(text, pair, talk(null), talk('s')), 'conversations')
})

test('the learned system message is the one of more than half of the conversations', () => {
  const winner = (...rows: DatasetRow[]) => {
    const vote = createSystemMessageVote()
    for (const row of rows) vote.add(row)
    for (const row of rows) vote.confirm(row)
    return vote.winner()
  }
  assert.equal(winner(pair, pair, talk('one')), 'one')
  assert.equal(winner(talk('one'), talk('two'), talk('one'), talk(null), talk('one')), 'one')
  assert.equal(winner(talk('one'), talk('two')), null)
  assert.equal(winner(talk('one'), talk('two'), talk('three')), null)
  assert.equal(winner(talk(null), talk(null), talk('one')), null)
  const long = 'x'.repeat(8001)
  assert.equal(winner(talk(long)), null)
})
