import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDatasetRow } from '../../src/datasets/dataset-row.ts'

const system = { role: 'system', content: 'Be brief.' }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more })

test('every answer of a conversation is learned after all that was said before it', () => {
  const parts = [
    { type: 'text', text: 'And ' },
    { type: 'text', text: 'now?' },
  ]
  const messages = [{ ...system, role: 'developer' }, user('Who?'), assistant('Zoë.'), user(parts), assistant('Ann.')]
  assert.deepEqual(readDatasetRow({ messages, tools: null }), {
    input: 'system: Be brief.\nuser: Who?\nassistant: Zoë.\nuser: And now?',
    output: 'Ann.',
    answers: [
      { messages: [system, user('Who?')], output: 'Zoë.' },
      { messages: [system, user('Who?'), assistant('Zoë.'), user('And now?')], output: 'Ann.' },
    ],
  })
})

test('an answer of weight 0 is only read', () => {
  const messages = [user('a'), assistant('no', { weight: 0 }), user('b'), assistant('yes', { weight: 1 })]
  const row = readDatasetRow({ messages }) as { answers: { output: string }[] }
  assert.deepEqual(
    row.answers.map(({ output }) => output),
    ['yes'],
  )
})

const bad: [object, string, string][] = [
  [{ messages: 'x' }, 'messages', 'is not a list of messages'],
  [{ messages: [] }, 'messages', 'is not a list of messages'],
  [{ messages: [user('a')] }, 'messages', 'has no assistant message to train on'],
  [{ messages: [assistant('alone')] }, 'messages', 'has no assistant message to train on'],
  [{ messages: [user('a'), 7] }, 'messages[1]', 'is not a message'],
  [{ messages: [user(7)] }, 'messages[0].content', 'is not a string'],
  [{ messages: [user([{ type: 'image_url' }])] }, 'messages[0].content', 'is not a string'],
  [{ messages: [user('a\0')] }, 'messages[0].content', 'contains a NUL character'],
  [{ messages: [user('a'), assistant('')] }, 'messages[1].content', 'is empty'],
  [{ messages: [user('a'), assistant('b', { weight: 2 })] }, 'messages[1].weight', 'is neither 0 nor 1'],
  [{ messages: [user('a'), assistant('b', { tool_calls: [{}] })] }, 'messages[1].tool_calls', 'is not supported'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].role', 'is not system, developer, user or assistant'],
  [{ messages: [user('a'), assistant('b')], tools: [{}] }, 'tools', 'is not supported'],
]
for (const [row, field, reason] of bad)
  test(`names ${field}, which ${reason}: ${JSON.stringify(row).slice(0, 60)}`, () => {
    assert.deepEqual(readDatasetRow(row), { field, reason })
  })
