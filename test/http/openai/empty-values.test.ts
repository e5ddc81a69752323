// What clients write for a field that they leave out: null, "", [] and {}. empty-fields.test.ts has the rule for all fields.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { promptsOf, type CompletionRequest } from '../../../src/inference/request.ts'
import { startPublic } from '../support.ts'

const chat = '/openai/v1/chat/completions'
const completions = '/openai/v1/completions'
const responses = '/openai/v1/responses'
const messages = [{ role: 'user', content: 'Who?' }]

const toolsWith = (more: object) => ({ tools: [{ type: 'function', function: { name: 'count', ...more } }] })
const called = (answer: object, more: object) => {
  const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'count', ...more } }]
  return [
    ...messages,
    { role: 'assistant', ...answer, tool_calls },
    { role: 'tool', tool_call_id: 'call_1', content: '4' },
  ]
}
const answersWithoutText = [{}, { content: '' }, { content: null }, { content: [] }]
const callsWithoutArguments = [{}, { arguments: '' }, { arguments: null }]
const ofOne = (name: string, ...values: unknown[]) => values.map((value) => ({ [name]: value }))

const cases: [path: string, without: object, withEmpty: object[]][] = [
  [
    chat,
    { messages },
    [
      ...ofOne('tools', null, [], {}),
      ...ofOne('tool_choice', null, '', {}),
      ...ofOne('response_format', null, {}),
      ...ofOne('stop', null, '', []),
      ...ofOne('stream_options', null, {}),
      ...ofOne('logit_bias', null, {}, []),
      ...ofOne('metadata', null, {}, []),
      ...ofOne('functions', null, [], {}),
      ...ofOne('function_call', null, ''),
      ...ofOne('modalities', null, []),
      ...ofOne('reasoning_effort', null, '', {}),
      ...ofOne('user', null, ''),
      { tools: [], tool_choice: 'auto', parallel_tool_calls: null },
      { tools: null, tool_choice: 'none' },
      { service_tier: '', seed: null, unknown: null },
    ],
  ],
  [
    chat,
    { messages },
    ['tool_calls', 'refusal', 'audio', 'function_call', 'annotations', 'name', 'tool_call_id'].flatMap((name) =>
      [null, ...(name === 'name' || name === 'tool_call_id' ? [''] : [[], {}])].map((value) => ({
        messages: [{ ...messages[0], [name]: value }],
      })),
    ),
  ],
  [
    chat,
    { messages, ...toolsWith({}) },
    [...ofOne('parameters', null, {}, []), ...ofOne('description', null, ''), { strict: null }].map(toolsWith),
  ],
  [
    chat,
    { messages: called({}, {}) },
    answersWithoutText.flatMap((answer) => callsWithoutArguments.map((more) => ({ messages: called(answer, more) }))),
  ],
  [
    completions,
    { prompt: 'a' },
    [...ofOne('suffix', null, ''), ...ofOne('stop', '', []), { logit_bias: {}, user: '' }],
  ],
  [
    responses,
    { input: 'a', store: false },
    [
      ...ofOne('text', null, {}, { format: {} }, { format: null, verbosity: '' }),
      ...ofOne('reasoning', null, {}),
      ...ofOne('include', null, []),
      ...ofOne('tools', null, [], {}),
      ...ofOne('previous_response_id', null, ''),
      ...ofOne('conversation', null, '', {}),
      ...ofOne('instructions', null, ''),
      { input: [{ type: 'message', role: 'user', content: 'a', id: null, status: '' }] },
    ],
  ],
]

suite('Empty values in requests for answers', async () => {
  let asked: CompletionRequest | null = null
  const inference = {
    complete: (request: CompletionRequest) => {
      asked = request
      const outputs = promptsOf(request.input).map((output) => ({ output, calls: [] }))
      return Promise.resolve({ outputs, finishReasons: outputs.map(() => 'stop') })
    },
  }
  const { call } = await startPublic({ inference, database: { models: { find: () => Promise.resolve(null) } } })
  const askedBy = async (path: string, json: object) => {
    const { status, text } = await call('POST', path, { json: { model: 'tiny', ...json } })
    assert.equal(status, 200, text)
    const { input, answer, sampling } = asked ?? assert.fail()
    return JSON.stringify({ input, answer, sampling })
  }

  for (const [path, without, withEmpty] of cases)
    for (const more of withEmpty)
      test(`${path} takes ${JSON.stringify(more).slice(0, 120)} as if the field were absent`, async () => {
        assert.equal(await askedBy(path, { ...without, ...more }), await askedBy(path, without))
      })

  test('an empty text of a user or a tool is a text, and no content at all is refused', async () => {
    const said = (content: unknown) =>
      call('POST', chat, { json: { model: 'tiny', messages: [{ role: 'user', content }] } })
    assert.equal((await said('')).status, 200)
    for (const content of [null, [], undefined]) {
      const { status, json } = await said(content)
      assert.deepEqual([status, json.error.param], [400, 'messages[0].content'])
    }
  })
})
