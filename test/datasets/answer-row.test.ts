import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerReaderOf } from '../../src/datasets/answer-row.ts'
import { isProblem } from '../../src/datasets/dataset-row.ts'
import { linesOf } from '../../src/datasets/write-rows.ts'

const user = (content: string) => ({ role: 'user', content })
const said = (content: string) => ({ role: 'assistant', content })
const openAi = (better: unknown, worse: unknown, input: object = { messages: [user('q')] }) => ({
  input,
  preferred_output: better,
  non_preferred_output: worse,
})

/** What the trainer gets. */
function written(method: 'dpo' | 'kto', row: object): unknown[] {
  const read = answerReaderOf(method)(row)
  assert(!isProblem(read), JSON.stringify(read))
  return linesOf(read).map((line) => JSON.parse(line) as unknown)
}

const texts = { input: 'q', chosen: 'a', rejected: 'b' }
const messages = { messages: [user('q')], chosen: [said('a')], rejected: [said('b')] }
const compared: [name: string, row: object, line: object][] = [
  ['texts of TRL', { prompt: 'q', chosen: 'a', rejected: 'b' }, texts],
  ['Alpaca', { instruction: 'i', input: 'q', chosen: 'a', rejected: 'b' }, { ...texts, input: 'i\nq' }],
  ["axolotl's names of Argilla", { prompt: 'q', chosen_response: 'a', rejected_response: 'b' }, texts],
  ['a system text', { system: 's', prompt: 'q', chosen: 'a', rejected: 'b' }, { ...texts, input: 's\n\nq' }],
  ['messages of TRL', { prompt: [user('q')], chosen: [said('a')], rejected: [said('b')] }, messages],
  [
    'messages of TRL with the prompt in both answers',
    { chosen: [user('q'), said('a')], rejected: [user('q'), said('b')] },
    messages,
  ],
  [
    'two whole texts of TRL',
    { chosen: 'The sky is blue.', rejected: 'The sky is green.', score_chosen: 7, note: '' },
    { input: 'The sky is', chosen: ' blue.', rejected: ' green.' },
  ],
  [
    'two whole texts that differ in the second half of a character',
    { chosen: 'It is 🍎', rejected: 'It is 🍏' },
    { input: 'It is ', chosen: '🍎', rejected: '🍏' },
  ],
  [
    'UltraFeedback, which repeats the prompt as a text',
    { prompt: 'q', chosen: [user('q'), said('a')], rejected: [user('q'), said('b')] },
    messages,
  ],
  [
    'ShareGPT of LLaMA-Factory',
    {
      conversations: [{ from: 'human', value: 'q' }],
      chosen: { from: 'gpt', value: 'a' },
      rejected: { from: 'gpt', value: 'b' },
    },
    messages,
  ],
  ['OpenAI', openAi([said('a')], [said('b')]), messages],
]

for (const [name, row, line] of compared)
  test(`reads two answers to compare: ${name}`, () => {
    assert.deepEqual(written('dpo', row), [line])
  })

test('a conversation that is repeated beside two whole ones is no field of its own, and another prompt is told', () => {
  const chosen = [user('q'), said('a')]
  const whole = { chosen, rejected: [user('q'), said('b')], messages: chosen }
  const line = { messages: [user('q')], chosen: [said('a')], rejected: [said('b')] }
  assert.deepEqual(written('dpo', { ...whole, prompt: 'q' }), [line])
  const unreadOf = (row: object) => {
    const unread: string[] = []
    answerReaderOf('dpo')(row, unread)
    return unread
  }
  assert.deepEqual(unreadOf({ ...whole, prompt: 'q' }), [])
  assert.deepEqual(unreadOf({ ...whole, prompt: 'another' }), ['prompt'])
  assert.deepEqual(unreadOf({ ...openAi([said('a')], [said('b')]), prompt: 'another' }), ['prompt'])
})

test('an answer that calls a function, with its tools, is one of two answers', () => {
  const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }
  const row = openAi([{ role: 'assistant', tool_calls: [call] }], [said('b')], {
    messages: [user('q')],
    tools: [tool],
    parallel_tool_calls: true,
  })
  const [line] = written('dpo', row) as {
    tools: { function: { name: string } }[]
    chosen: { tool_calls: unknown[] }[]
  }[]
  assert.equal(line?.tools[0]?.function.name, 'f')
  assert.equal(line.chosen[0]?.tool_calls.length, 1)
})

test('judged answers keep their label, and a pair becomes one good and one bad answer', () => {
  const judged = (answer: unknown, label: boolean) => ({ input: 'q', answer, label })
  assert.deepEqual(written('kto', { prompt: 'q', completion: 'a', label: true }), [judged('a', true)])
  assert.deepEqual(written('kto', { Question: 'q', answer: 'a', label: 'false' }), [judged('a', false)])
  assert.deepEqual(written('kto', { instruction: 'q', output: 'a', kto_tag: false }), [judged('a', false)])
  assert.deepEqual(written('kto', { prompt: 'q', chosen: 'a', rejected: 'b' }), [judged('a', true), judged('b', false)])
  assert.deepEqual(written('kto', { messages: [user('q'), said('a')], label: false }), [
    { messages: [user('q')], answer: [said('a')], label: false },
  ])
})

const bad: [method: 'dpo' | 'kto', row: unknown, field: string, reason: RegExp][] = [
  ['dpo', 7, 'row', /^is not an object such as .*chosen/],
  ['dpo', { prompt: 'q', chosen: 'a' }, 'rejected', /^is missing$/],
  ['dpo', { prompt: 'q', chosen: 'a', rejected: '' }, 'rejected', /^is empty$/],
  ['dpo', { prompt: 'q', chosen: 'a', rejected: 'a' }, 'rejected', /^is the same as chosen$/],
  ['dpo', { prompt: 'q', chosen: 7, rejected: 'a' }, 'chosen', /is a number, not a string/],
  ['dpo', { chosen: 'a', rejected: 'b' }, 'prompt', /^is missing/],
  ['dpo', { chosen: 'a b', rejected: 'a c', Frage: 'q' }, 'prompt', /^is missing/],
  ['dpo', { chosen: 'a b', rejected: 'a b c' }, 'chosen', /^is empty/],
  [
    'dpo',
    { messages: [user('q'), said('a')] },
    'preferred_output',
    /^is missing\. .*dpo; rows of messages are for supervised$/,
  ],
  ['dpo', { prompt: 'q', completion: 'a', label: true }, 'chosen', /rows with a label are for kto$/],
  ['dpo', { instruction: 'q', output: 'a', kto_tag: true }, 'chosen', /are for kto$/],
  [
    'dpo',
    { prompt: 'q', completions: ['a'] },
    'chosen',
    /^is missing: the row has "prompt", "completions"\. A pair has/,
  ],
  [
    'dpo',
    { messages: [user('q'), said('a')], rejected_response: 'b' },
    'chosen',
    /rename rejected_response to rejected/,
  ],
  ['dpo', { messages: [user('q'), said('a')], rejected_messages: [said('b')] }, 'chosen', /rename messages to chosen/],
  ['dpo', openAi([said('a')], [said('a')]), 'non_preferred_output', /^is the same as preferred_output$/],
  ['dpo', openAi([said('')], [said('b')]), 'preferred_output[0].content', /^is empty$/],
  ['dpo', openAi([said('a')], undefined), 'non_preferred_output', /^is missing$/],
  ['dpo', openAi([said('a'), said('c')], [said('b')]), 'preferred_output', /^has 2 messages/],
  [
    'dpo',
    openAi([said('a')], [said('b')], { messages: [said('q')] }),
    'input.messages',
    /^the last message is not of the user$/,
  ],
  [
    'dpo',
    openAi([said('a')], [said('b')], { messages: [{ role: 'king', content: 'q' }] }),
    'input.messages[0].role',
    /^is not/,
  ],
  [
    'dpo',
    { chosen: [user('q'), said('a')], rejected: [user('r'), said('b')] },
    'rejected',
    /^does not begin with the same messages/,
  ],
  ['kto', { prompt: 'q', completion: 'a' }, 'label', /^is missing \(this job's method is kto\)$/],
  ['kto', { prompt: 'q', completion: 'a', label: 'good' }, 'label', /^is not true or false$/],
  ['kto', { prompt: 'q', label: true }, 'completion', /^is missing/],
  ['kto', { completion: 'a', label: true }, 'prompt', /^is missing/],
  ['kto', { completion: [user('q'), said('a')], label: true }, 'prompt', /rename completion to messages/],
  ['kto', { instruction: 'q', output: 'a', kto_tag: 'x' }, 'kto_tag', /^is not true or false$/],
]

for (const [method, row, field, reason] of bad)
  test(`refuses for ${method}: ${JSON.stringify(row)}`, () => {
    const read = answerReaderOf(method)(row)
    assert(isProblem(read), 'the row was read')
    assert.equal(read.field, field)
    assert.match(read.reason, reason)
  })
