import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { invalidInput } from '../../../src/domain/service-error.ts'
import type { CompletionRequest } from '../../../src/inference/request.ts'
import { messagesOf, startPublic } from '../support.ts'

type Place = { accountId: string; id: string }

const path = '/openai/v1/responses'

suite("OpenAI's responses", async () => {
  const kept = new Map<string, { accountId: string; conversation: unknown[]; response: unknown }>()
  const storedResponses = {
    add: async ({ accountId, id }: Place, what: { conversation: unknown[]; response: unknown }) =>
      void kept.set(id, { accountId, ...structuredClone(what) }),
    find: async ({ accountId, id }: Place) => {
      const found = kept.get(id)
      return found?.accountId === accountId ? found : null
    },
    remove: async ({ id }: Place) => kept.delete(id),
  }
  const asked: CompletionRequest[] = []
  let finishReason = 'stop'
  const inference = {
    complete: (request: CompletionRequest) => {
      asked.push(request)
      const { answer, onText, meter } = request
      if (answer.maxTokens === 1)
        throw invalidInput('max_tokens', 'max_tokens must be at least 9 for this output_type.')
      meter?.countTokens({ promptTokens: 5, completionTokens: 2 })
      if (answer.kind === 'calls') {
        answer.onPart?.({ kind: 'call', name: 'count' })
        for (const text of ['{"n"', ':4}']) answer.onPart?.({ kind: 'arguments', text })
        const calls = [{ name: 'count', arguments: '{"n":4}' }]
        return Promise.resolve({ outputs: [{ output: '', calls }], finishReasons: [finishReason] })
      }
      const pieces = answer.kind === 'schema' ? ['{"n"', ':4}'] : ['The', ' cat']
      for (const piece of pieces) onText?.(piece)
      const outputs = [{ output: pieces.join('') }]
      return Promise.resolve({ outputs, finishReasons: [finishReason] })
    },
  }
  const edge = await startPublic({
    inference,
    database: { models: { find: () => Promise.resolve(null) }, storedResponses },
  })
  const post = (json: object) => edge.call('POST', path, { json: { model: 'tiny', ...json } })
  const events = async (json: object) => {
    const { text } = await post({ ...json, stream: true })
    return text.split('\n\n').flatMap((event) => {
      if (event === '') return []
      const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(event) ?? assert.fail(event)
      const parsed = JSON.parse(data ?? '')
      assert.equal(parsed.type, name)
      return [parsed]
    })
  }
  const tools = [
    {
      type: 'function',
      name: 'count',
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    },
  ]

  test('answers a text in the form of a response', async () => {
    const { status, json } = await post({ input: 'Who?', instructions: 'Be brief.', max_output_tokens: 9 })
    assert.equal(status, 200, JSON.stringify(json))
    assert.match(json.id, /^resp_[0-9a-f]{32}$/)
    assert.deepEqual([json.object, json.status, json.store, json.model], ['response', 'completed', true, 'tiny'])
    assert.deepEqual(json.output[0].content, [{ type: 'output_text', text: 'The cat', annotations: [] }])
    assert.deepEqual([json.usage.input_tokens, json.usage.output_tokens, json.usage.total_tokens], [5, 2, 7])
    assert.deepEqual(messagesOf(asked.at(-1)), [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Who?' },
    ])
    assert.equal(asked.at(-1)?.answer.maxTokens, 9)
  })

  test('takes its own answers back in a conversation', async () => {
    const { json } = await post({ input: 'Who?' })
    const next = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And then?' }] }
    assert.equal((await post({ input: [{ role: 'user', content: 'Who?' }, json.output[0], next] })).status, 200)
    const messages = messagesOf(asked.at(-1))
    assert.equal(messages instanceof Array && messages.length, 3)
  })

  test('continues a kept response, also of a stream, without its instructions', async () => {
    const { json: first } = await post({ input: 'Who?', instructions: 'Be brief.' })
    const [stored] = (await events({ input: 'And then?', previous_response_id: first.id })).slice(-1)
    const { json: third } = await post({ input: 'Really?', previous_response_id: stored.response.id })
    assert.equal(third.previous_response_id, stored.response.id)
    const turn = (content: string) => [
      { role: 'user', content },
      { role: 'assistant', content: 'The cat' },
    ]
    assert.deepEqual(messagesOf(asked.at(-1)), [
      ...turn('Who?'),
      ...turn('And then?'),
      { role: 'user', content: 'Really?' },
    ])
    assert.deepEqual((await edge.call('GET', `${path}/${third.id}`)).json, third)
  })

  test('takes the output of a kept call', async () => {
    const { json } = await post({ input: 'How many?', tools, tool_choice: 'required' })
    const parts = [{ type: 'input_text', text: '4' }]
    const output = { type: 'function_call_output', call_id: json.output[0].call_id, output: parts }
    const { json: next } = await post({ input: [output], previous_response_id: json.id })
    const messages = messagesOf(asked.at(-1))
    assert.deepEqual([messages.map(({ role }) => role).join(), messages.at(-1)?.content], ['user,assistant,tool', '4'])
    const { json: items } = await edge.call('GET', `${path}/${next.id}/input_items`)
    assert.equal(items.data[0].output, '4')
    const { json: refusal } = await post({ input: 'So?', previous_response_id: json.id })
    assert.equal(refusal.error.param, 'previous_response_id')
    assert.match(refusal.error.message, /must be answered by a function_call_output: ".*" is not\.$/)
  })

  test('forgets a response that is deleted, and never keeps one with store: false', async () => {
    const { json } = await post({ input: 'Who?' })
    const one = `${path}/${json.id}`
    assert.deepEqual((await edge.call('DELETE', one)).json, { id: json.id, object: 'response', deleted: true })
    const before = kept.size
    const unkept = (await post({ input: 'Who?', store: false })).json
    assert.deepEqual([unkept.store, kept.size], [false, before])
    for (const id of [json.id, unkept.id, 'resp_1']) {
      assert.equal((await edge.call('GET', `${path}/${id}`)).status, 404)
      assert.equal((await edge.call('DELETE', `${path}/${id}`)).status, 404)
      const refusal = await post({ input: 'Who?', previous_response_id: id })
      assert.deepEqual([refusal.status, refusal.json.error.param], [404, 'previous_response_id'])
    }
  })

  test('streams the events that the SDKs parse, numbered', async () => {
    const sent = await events({ input: 'Who?' })
    assert.deepEqual(
      sent.map(({ type }) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.content_part.added',
        'response.output_text.delta',
        'response.output_text.delta',
        'response.output_text.done',
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ],
    )
    assert.deepEqual(
      sent.map(({ sequence_number }) => sequence_number),
      sent.map((_, at) => at),
    )
    const { response } = sent.at(-1)
    assert.deepEqual([response.output[0].content[0].text, response.usage.total_tokens], ['The cat', 7])
    assert.equal(response.id, sent[0].response.id)
  })

  test('calls the function that the request names, and keeps a schema', async () => {
    const { json } = await post({ input: 'How many?', tools, tool_choice: { type: 'function', name: 'count' } })
    const [{ type, name, arguments: given, call_id }] = json.output
    assert.deepEqual([type, name, given], ['function_call', 'count', '{"n":4}'])
    assert.match(call_id, /^call_/)
    const sent = await events({ input: 'How many?', tools, tool_choice: 'required' })
    assert.ok(sent.some((event) => event.type === 'response.function_call_arguments.done' && event.arguments === given))
    const format = { type: 'json_schema', name: 'item', strict: true, schema: tools[0]?.parameters }
    const typed = await post({ input: 'How many?', text: { format } })
    assert.equal(typed.json.output[0].content[0].text, '{"n":4}')
  })

  test('says when an answer is cut', async () => {
    finishReason = 'length'
    const { json } = await post({ input: 'Who?' })
    assert.deepEqual([json.status, json.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
    assert.equal((await events({ input: 'Who?' })).at(-1).type, 'response.incomplete')
    finishReason = 'stop'
  })

  for (const [param, change] of [
    ['store', { store: 'yes' }],
    [
      'input[1].arguments',
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'function_call', call_id: 'c', name: 'f', arguments: '{' },
        ],
      },
    ],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['max_output_tokens', { max_output_tokens: 1, tools, tool_choice: 'required' }],
    ['reasoning', { reasoning: { effort: 'low' } }],
    ['background', { background: true }],
    ['input', { input: [] }],
    ['text.format', { text: { format: { type: 'json_schema', name: 'x', schema: { not: {} } } } }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
  ] as const)
    test(`names ${param} in its refusal of ${JSON.stringify(change).slice(0, 50)}`, async () => {
      const { status, json } = await post({ input: 'Who?', ...change })
      assert.equal(status, 400)
      assert.ok(json.error.param.startsWith(param), JSON.stringify(json))
      assert.doesNotMatch(json.error.message, /messages|max_tokens|max_completion_tokens|response_format/)
    })
})
