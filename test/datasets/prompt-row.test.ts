import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../../src/datasets/dataset-row.ts'
import { promptReaderOf } from '../../src/datasets/prompt-row.ts'
import { fingerprint } from '../../src/datasets/validate-rows.ts'
import { linesOf } from '../../src/datasets/write-rows.ts'

const needs = [{ grader: 'right', name: 'item.answer' }]
const read = (row: unknown, unread: string[] = []) => promptReaderOf(needs)(row, unread)

function lineOf(row: unknown): unknown {
  const found = read(row)
  assert.ok(!isProblem(found), JSON.stringify(found))
  const [line = '', ...others] = linesOf(found)
  assert.deepEqual(others, [])
  return JSON.parse(line)
}

const user = { role: 'user', content: 'Who?' }
const tool = { type: 'function', function: { name: 'find', parameters: { type: 'object', properties: {} } } }

test('gives the trainer a prompt, and every other field as its item', () => {
  assert.deepEqual(lineOf({ prompt: 'Who?', answer: 'Me', meta: { a: [1] } }), {
    ...{ input: 'Who?', item: { answer: 'Me', meta: { a: [1] } } },
  })
  assert.deepEqual(lineOf({ messages: [user], tools: [tool], answer: '' }), {
    ...{ messages: [user], tools: [tool], item: { answer: '' } },
  })
  assert.deepEqual(lineOf({ Prompt: [user], answer: 'Me', output: 'x' }), {
    ...{ messages: [user], item: { answer: 'Me', output: 'x' } },
  })
})

test('a system message beside the prompt is told, unless a grader reads it', () => {
  const unread: string[] = []
  const row = read({ prompt: 'Who?', answer: 'a', system: 'Be short.', note: 1 }, unread)
  assert.deepEqual([unread, isProblem(row)], [['system'], false])
  promptReaderOf([{ grader: 'right', name: 'item.system' }])({ prompt: 'Who?', system: 'Be short.' }, unread)
  assert.deepEqual(unread, ['system'])
})

test('rows of one prompt stay together, whatever their items are', () => {
  const print = (row: unknown) => {
    const found = read(row)
    assert.ok(!isProblem(found))
    return fingerprint(found)
  }
  assert.equal(print({ prompt: 'Who?', answer: 'a' }), print({ prompt: 'Who?', answer: 'b' }))
  assert.notEqual(print({ prompt: 'Who?', answer: 'a' }), print({ prompt: 'Why?', answer: 'a' }))
})

const forSupervised = "This job's method is reinforcement; such rows are for supervised"
const refused: [row: unknown, field: string, reason: string][] = [
  ['Who?', 'row', 'is not an object such as {"prompt": "..."}'],
  [{ prompt: 'Who?' }, 'item.answer', 'is missing; the grader "right" reads it'],
  [{ prompt: 'Who?', answer: 'a\0' }, 'item.answer', 'contains a NUL character'],
  [{ prompt: 'Who?', answer: 'x'.repeat(65_536) }, 'item', 'has more than 65536 characters of JSON beside the prompt'],
  [{ input: 'Who?', output: 'Me' }, 'prompt', `is missing. ${forSupervised}`],
  [{ chosen: 'a', rejected: 'b' }, 'prompt', "is missing. This job's method is reinforcement; such rows are for dpo"],
  [{ prompt: '', answer: 'a' }, 'prompt', 'is empty'],
  [{ Messages: [], answer: 'a' }, 'Messages', 'is empty'],
  [{ question: 'Who?', answer: 'a' }, 'prompt', 'is missing: rename question to prompt'],
  [{ prompts: 'Who?', answer: 'a' }, 'prompt', 'is missing'],
  [{ prompt: 'Who?', answer: null }, 'item.answer', 'is null; the grader "right" reads it'],
  [
    { prompt: 'Who?', answer: 'a', ids: [2 ** 53] },
    'item.ids',
    'has a whole number beyond 2^53, which loses digits: write it as a text',
  ],
  [
    // JSON has 1e999.
    { prompt: 'Who?', answer: 'a', ids: [Infinity] },
    'item.ids',
    'has a whole number beyond 2^53, which loses digits: write it as a text',
  ],
  [{ prompt: 7, answer: 'a' }, 'prompt', 'is a number, not a string'],
  [{ prompt: 'Who?', messages: [user] }, 'prompt', 'stands beside messages: keep one of them'],
  [{ prompt: 'Who?', tools: [tool], answer: 'a' }, 'tools', 'is for a prompt of messages'],
  [{ messages: [{ role: 'user', content: 1 }] }, 'messages[0].content', 'is not a string'],
  [
    { messages: [user, { role: 'assistant', content: 'Me' }] },
    'messages',
    "the last message is not of the user. This job's method is reinforcement; rows that end in an answer are for supervised",
  ],
]

for (const [row, field, reason] of refused)
  test(`refuses ${JSON.stringify(row).slice(0, 60)}`, () => {
    assert.deepEqual(read(row), { field, reason })
  })

test('a field that stands twice is refused, and an item keeps a key of any name', () => {
  const read = promptReaderOf([])
  const twice = read({ prompt: 'a', Prompt: 'b' })
  assert.deepEqual('reason' in twice && twice.reason, 'is the same field as "prompt": keep one')
  const row = read(JSON.parse('{"prompt": "x", "__proto__": {"a": 1}}'))
  assert.ok('item' in row && Object.hasOwn(row.item ?? {}, '__proto__'))
})
