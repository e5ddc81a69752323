import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proposeColumns } from '../../src/datasets/propose-columns.ts'

/** Names of columns; those that hold numbers end with "#". */
const proposed = (...names: string[]) => {
  const row = Object.fromEntries(names.map((name) => [name, name.endsWith('#') ? '17' : 'Some words.']))
  const found = proposeColumns(names, [row])
  return found && [found.input, found.output]
}

test('columns are proposed by the words of their names, else where only two hold text', () => {
  assert.deepEqual(proposed('customerQuestion', 'agent_answer'), ['customerQuestion', 'agent_answer'])
  assert.deepEqual(proposed('user_id', 'Antwort', 'Frage'), ['Frage', 'Antwort'])
  assert.deepEqual(proposed('created date', 'notes', 'reply'), ['notes', 'reply'])
  assert.deepEqual(proposed('prompt text', 'what we say'), ['prompt text', 'what we say'])
  assert.deepEqual(proposed('left', 'n#', 'right'), ['left', 'right'])
  assert.deepEqual(proposed('a', 'q', 'r'), ['q', 'a'])
  assert.deepEqual(proposed('lyrics'), [null, 'lyrics'])
  assert.equal(proposed('one', 'two', 'three'), null)
  assert.equal(proposed('one', 'two', 'reply'), null)
  assert.equal(proposed('n#'), null)
})
