import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDatasetRow, type DatasetRow } from '../../src/datasets/dataset-row.ts'
import { lineOf } from '../../src/datasets/write-rows.ts'

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
    conversation: {
      messages: [system, user('Who?'), assistant('Zoë.'), user('And now?'), assistant('Ann.')],
      learned: [2, 4],
    },
  })
})

test('an answer of weight 0 is only read, and messages after the last answer are left out', () => {
  const messages = [user('a'), assistant('no', { weight: 0 }), user('b'), assistant('yes', { weight: 1 }), user('c')]
  const row = readDatasetRow({ messages }) as DatasetRow
  assert.deepEqual([row.conversation?.learned, row.conversation?.messages.length], [[3], 4])
})

test('a conversation of 1,000 messages is read; its size in memory and on disk is its own', () => {
  const messages = Array.from({ length: 500 }, (_, turn) => [user(`q${turn}`.repeat(50)), assistant('yes')]).flat()
  const row = readDatasetRow({ messages }) as DatasetRow
  assert.equal(row.conversation?.learned.length, 500)
  assert.ok(lineOf(row).length < JSON.stringify({ messages }).length + 5000)
  assert.deepEqual(readDatasetRow({ messages: [...messages, user('one more')] }), {
    field: 'messages',
    reason: 'has 1001 messages; a conversation may have at most 1000',
  })
})

const call = (text: string) => ({ id: 'c1', type: 'function', function: { name: 'stock', arguments: text } })

test('calls of functions are learned as answers, and their results are read', () => {
  const tools = [{ type: 'function', function: { name: 'stock', parameters: { type: 'object', properties: {} } } }]
  const result = { role: 'tool', tool_call_id: 'c1', content: '7' }
  const messages = [user('How many?'), assistant(null, { tool_calls: [call('{"of":"lamp"}')] }), result, assistant('7')]
  const row = readDatasetRow({ messages, tools }) as DatasetRow
  assert.equal(row.input, 'user: How many?\nassistant: \nstock({"of":"lamp"})\ntool: 7')
  assert.deepEqual(row.conversation?.learned, [1, 3])
  const written = JSON.parse(lineOf(row)) as { messages: unknown[]; tools: unknown }
  assert.deepEqual(written.messages[1], { role: 'assistant', content: '', tool_calls: [call('{"of":"lamp"}')] })
  assert.deepEqual([written.messages[2], written.tools], [result, tools])
  const last = readDatasetRow({ messages: messages.slice(0, 2), tools }) as DatasetRow
  assert.equal(last.output, '\nstock({"of":"lamp"})')
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
  [
    { messages: [user('a'), assistant('b', { tool_calls: [{}] })] },
    'messages[1].tool_calls[0]',
    'is not a call of a function',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call('[]')] })] },
    'messages[1].tool_calls[0].function.arguments',
    'is not a JSON object in a string',
  ],
  [{ messages: [{ ...user('a'), tool_calls: [call('{}')] }] }, 'messages[0].tool_calls', 'is for the assistant'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'is not a string'],
  [
    { messages: [{ role: 'robot', content: 'x' }] },
    'messages[0].role',
    'is not system, developer, user, assistant or tool',
  ],
  [{ messages: [user('a'), assistant('b')], tools: [{}] }, 'tools[0]', 'is not a function with a name and parameters'],
]
for (const [row, field, reason] of bad)
  test(`names ${field}, which ${reason}: ${JSON.stringify(row).slice(0, 60)}`, () => {
    assert.deepEqual(readDatasetRow(row), { field, reason })
  })
