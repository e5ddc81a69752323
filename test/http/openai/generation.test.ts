import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { z } from 'zod'
import type { AskedSchema } from '../../../src/domain/answer-shape.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import type { Meter } from '../../../src/inference/meter.ts'
import { promptsOf, type AnswerForm, type CompletionRequest } from '../../../src/inference/request.ts'
import { manyProperties } from '../../support/hostile-schemas.ts'
import { messagesOf, startPublic } from '../support.ts'

const path = '/openai/v1/chat/completions'
const messages = [{ role: 'user', content: 'Who?' }]

suite("OpenAI's generation routes", async () => {
  const asked: CompletionRequest[] = []
  let fails = 0
  const leftToThread: AskedSchema[][] = []
  const inference = {
    readSchemas: (schemas: AskedSchema[]) => Promise.resolve(void leftToThread.push(schemas)),
    complete: (request: CompletionRequest) => {
      asked.push(request)
      const { answer, onText, meter } = request
      meter?.countTokens({ promptTokens: 5, completionTokens: 2 })
      const call = { name: 'count', arguments: answer.maxTokens === 5 ? '{"n":' : '{"n":4}' }
      const finishReasons = [answer.maxTokens === 5 ? 'length' : 'stop']
      if (answer.kind === 'calls') {
        answer.onPart?.({ kind: 'call', name: 'count' })
        for (const text of ['{"n"', ':4}']) answer.onPart?.({ kind: 'arguments', text })
        return Promise.resolve({ outputs: [{ output: '', calls: [call] }], finishReasons })
      }
      const pieces = answer.kind === 'text' ? ['The', ' cat'] : ['{"n"', ':4}']
      if (answer.maxTokens !== 5) for (const piece of pieces) onText?.(piece)
      if (answer.maxTokens === 5) return Promise.resolve({ outputs: [{ output: '{"n":' }], finishReasons: ['length'] })
      if (fails > 0 && fails--) throw new ServiceError('unavailable', 'The model server was lost.')
      const outputs = promptsOf(request.input).map(() => ({ output: pieces.join('') }))
      return Promise.resolve({ outputs, finishReasons: outputs.map(() => 'stop') })
    },
    embed: ({ texts, meter }: { texts: string[]; meter: Meter }) => {
      meter.countTokens({ promptTokens: 3, completionTokens: 0 })
      return Promise.resolve(texts.map(() => [0.5, -0.25]))
    },
  }
  const edge = await startPublic({ inference, database: { models: { find: () => Promise.resolve(null) } } })
  const post = (to: string, json: object) => edge.call('POST', to, { json })
  const events = async (to: string, json: object) => {
    const { text, headers } = await post(to, { ...json, stream: true })
    assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
    const lines = text.split('\n\n').filter(Boolean)
    return lines.map((line) => line.replace(/^data: /, ''))
  }

  test('answers a conversation in the form of a chat completion', async () => {
    const parts = {
      role: 'user',
      content: [
        { type: 'text', text: 'W' },
        { type: 'text', text: 'ho?' },
      ],
    }
    const body = { model: 'small', messages: [{ role: 'developer', content: 'Be brief.' }, parts], max_tokens: 9 }
    const { status, json } = await post(path, body)
    const { id, created, ...rest } = json
    assert.equal(status, 200)
    assert.match(id, /^chatcmpl-[0-9a-f]{32}$/)
    assert.ok(Math.abs(created - Date.now() / 1000) < 60)
    assert.deepEqual(rest, {
      object: 'chat.completion',
      model: 'tiny',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'The cat', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
    })
    const { answer, sampling } = asked.at(-1) ?? assert.fail()
    assert.deepEqual(messagesOf(asked.at(-1)), [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Who?' },
    ])
    assert.deepEqual(answer, { kind: 'text', maxTokens: 9 })
    assert.deepEqual(sampling, { temperature: 1, topP: null, seed: null, stop: [] })
  })

  test('streams it as chunks, with the usage if asked for, and [DONE]', async () => {
    const body = { model: 'tiny', messages, stream_options: { include_usage: true } }
    const sent = await events(path, body)
    assert.equal(sent.pop(), '[DONE]')
    const chunks = sent.map((text) => JSON.parse(text))
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1)
    assert.deepEqual(
      chunks.map(({ choices }) => choices[0]?.delta ?? null),
      [{ role: 'assistant', content: 'The' }, { content: ' cat' }, {}, null],
    )
    assert.deepEqual(
      chunks.map(({ choices }) => choices[0]?.finish_reason),
      [null, null, 'stop', undefined],
    )
    assert.deepEqual(chunks.at(-1).usage, { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 })
    assert.ok(!('usage' in JSON.parse((await events(path, { model: 'tiny', messages }))[0] ?? '')))
  })

  test('ends a stream that fails with the error as its last event', async () => {
    fails = 1
    const sent = await events(path, { model: 'tiny', messages })
    const error = { message: 'The model server was lost.', type: 'server_error', param: null, code: 'unavailable' }
    assert.deepEqual(JSON.parse(sent.at(-1) ?? ''), { error })
  })

  test('refuses before a stream begins as always', async () => {
    const { status, json } = await post(path, { model: 'none', messages, stream: true })
    assert.equal(status, 404)
    assert.equal(json.error.code, 'model_not_found')
  })

  const partsOf = (shape: AnswerForm | undefined) => {
    assert.equal(shape?.kind, 'schema')
    const { nodes, root } = shape.schema.parts ?? assert.fail()
    const node = nodes[root]
    assert.equal(node?.kind, 'object')
    return Object.fromEntries(node.members.map((member) => [member.name, nodes[member.node]?.kind]))
  }

  test('asks for an answer of a JSON schema, which streams as it grows', async () => {
    const properties = {
      n: { type: 'integer', description: 'how many', minimum: 0 },
      colours: { type: 'array', items: { type: 'string', enum: ['red', 'white'] } },
      of: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
    }
    const schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
    const response_format = { type: 'json_schema', json_schema: { name: 'item', strict: true, schema } }
    const { json } = await post(path, { model: 'tiny', messages, response_format })
    assert.equal(json.choices[0].message.content, '{"n":4}')
    assert.deepEqual(partsOf(asked.at(-1)?.answer), { n: 'integer', colours: 'array', of: 'any' })
    const sent = await events(path, { model: 'tiny', messages, response_format })
    const deltas = sent.slice(0, -1).map((text) => JSON.parse(text).choices[0].delta.content)
    assert.deepEqual(deltas, ['{"n"', ':4}', undefined])
  })

  test("takes any JSON object, and vLLM's kinds of structured output", async () => {
    await post(path, { model: 'tiny', messages, response_format: { type: 'json_object' } })
    assert.equal(asked.at(-1)?.answer.kind, 'schema')
    const shapes = [
      [{ regex: 'a+' }, { kind: 'regex', regex: 'a+' }],
      [{ choice: ['a.', 'b'] }, { kind: 'regex', regex: '(a\\.|b)' }],
      [{ grammar: 'start: "a"' }, { kind: 'grammar', grammar: 'start: "a"' }],
    ] as const
    for (const [structured_outputs, shape] of shapes) {
      assert.equal((await post(path, { model: 'tiny', messages, structured_outputs })).status, 200)
      assert.deepEqual(asked.at(-1)?.answer, { ...shape, maxTokens: 1_000_000 })
    }
  })

  const completions = '/openai/v1/completions'

  test('gives a completion of a given form for each prompt, as vLLM does', async () => {
    const body = { model: 'tiny', prompt: ['a', 'b'] }
    const schema = { type: 'object', properties: { n: { type: 'integer' } } }
    const json_schema = { name: 'item', schema }
    for (const more of [
      { structured_outputs: { json: schema } },
      { structured_outputs: { json: JSON.stringify(schema), regex: null, disable_any_whitespace: true } },
      { response_format: { type: 'json_schema', json_schema } },
    ]) {
      const { json } = await post(completions, { ...body, ...more })
      assert.deepEqual(
        json.choices.map(({ text }: { text: string }) => text),
        ['{"n":4}', '{"n":4}'],
      )
      const { input, answer } = asked.at(-1) ?? assert.fail()
      assert.deepEqual([promptsOf(input), partsOf(answer), answer.maxTokens], [['a', 'b'], { n: 'integer' }, null])
    }
    await post(completions, {
      ...body,
      max_tokens: 40,
      structured_outputs: { choice: ['yes', 'no'], json_object: false },
    })
    assert.deepEqual(asked.at(-1)?.answer, { kind: 'regex', regex: '(yes|no)', maxTokens: 40 })
    await post(completions, { ...body, structured_outputs: { json_object: true } })
    assert.equal(asked.at(-1)?.answer.kind, 'schema')
    const sent = await events(completions, { model: 'tiny', prompt: 'a', structured_outputs: { json: schema } })
    const texts = sent.slice(0, -1).map((text) => JSON.parse(text).choices[0].text)
    assert.deepEqual(texts, ['{"n"', ':4}', ''])
    await post(completions, { ...body, response_format: { type: 'text' } })
    assert.equal(asked.at(-1)?.answer.kind, 'text')
  })

  test('refuses a field that does not go with a given form, by its name', async () => {
    const structured_outputs = { regex: 'a' }
    for (const [param, more] of [
      ['echo', { structured_outputs, echo: true }],
      ['logprobs', { structured_outputs, logprobs: 0 }],
      ['prompt', { structured_outputs, prompt: [1, 2] }],
      ['structured_outputs', { structured_outputs, response_format: { type: 'json_object' } }],
      ['structured_outputs', { structured_outputs: { regex: 'a', json: {} } }],
      ['structured_outputs.json', { structured_outputs: { json: '[' } }],
      ['structured_outputs.json', { structured_outputs: { json: '"object"' } }],
      ['structured_outputs.json#/type', { structured_outputs: { json: { type: 'thing' } } }],
      ['structured_outputs.structural_tag', { structured_outputs: { structural_tag: '{}' } }],
      ['structured_outputs.whitespace_pattern', { structured_outputs: { whitespace_pattern: ' ' } }],
      ['guided_regex', { guided_regex: 'a' }],
    ] as const) {
      const { status, json } = await post(completions, { model: 'tiny', prompt: 'a', ...more })
      assert.deepEqual([status, json.error.param], [400, param], JSON.stringify(json))
    }
  })

  test('leaves schemas that are large together to a thread, those of all functions and of the text', async () => {
    const schema = manyProperties(300)
    const tools = Array.from({ length: 3 }, (_, index) => ({
      type: 'function',
      function: { name: `f${index}`, parameters: schema },
    }))
    const response_format = { type: 'json_schema', json_schema: { name: 'item', schema } }
    const tool_choice = { type: 'function', function: { name: 'f2' } }
    const { status } = await post(path, { model: 'tiny', messages, tools, response_format, tool_choice })
    assert.equal(status, 200)
    const places = [0, 1, 2].map((index) => `tools[${index}].function.parameters`)
    assert.deepEqual(
      leftToThread.map((schemas) => schemas.map(({ at }) => at)),
      [['response_format.json_schema.schema', ...places]],
    )
    const { answer } = asked.at(-1) ?? assert.fail()
    assert.ok(answer.kind === 'calls')
    assert.deepEqual(
      answer.functions.map(({ name, schema: { at, parts } }) => [name, at, parts]),
      [['f2', places[2], null]],
    )
  })

  test('bounds a whole answer by max_tokens, and says when it is cut', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } } }
    const response_format = { type: 'json_schema', json_schema: { name: 'item', schema } }
    for (const limit of [{ max_tokens: 5 }, { max_completion_tokens: 5, max_tokens: 9 }]) {
      const { json } = await post(path, { model: 'tiny', messages, response_format, ...limit })
      assert.deepEqual([json.choices[0].message.content, json.choices[0].finish_reason], ['{"n":', 'length'])
    }
    assert.equal((await post(path, { model: 'tiny', messages, response_format })).json.choices[0].finish_reason, 'stop')
    assert.equal(asked.at(-1)?.answer.maxTokens, null)
  })

  test('takes the schemas that zod 4 writes for integers and Pydantic for Enum classes', async () => {
    const written = z.toJSONSchema(z.object({ n: z.int(), kind: z.literal('item'), size: z.enum(['s', 'l']) }))
    const schema = {
      ...written,
      $defs: { Color: { enum: ['red', 'white'], title: 'Color', type: 'string' }, Unused: { type: 'array' } },
      properties: {
        ...written.properties,
        color: { $ref: '#/$defs/Color', description: 'its colour', default: 'red' },
        lining: { anyOf: [{ $ref: '#/$defs/Color' }], default: 'red' },
      },
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'item', strict: true, schema } }
    assert.equal((await post(path, { model: 'tiny', messages, response_format })).status, 200)
    assert.deepEqual(partsOf(asked.at(-1)?.answer), {
      n: 'integer',
      kind: 'choice',
      size: 'choice',
      color: 'any',
      lining: 'any',
    })
  })

  const toolOf = (properties: object) => ({
    type: 'function',
    function: { name: 'count', description: 'Counts', parameters: { type: 'object', properties } },
  })
  const tools = [toolOf({ n: { type: 'integer' } })]
  const named = { type: 'function', function: { name: 'count' } }

  test('writes the calls that the request asks for, and none where it forbids them', async () => {
    for (const [tool_choice, reason, isRequired] of [
      [named, 'stop', true],
      ['required', 'tool_calls', true],
      ['auto', 'tool_calls', false],
      [undefined, 'tool_calls', false],
    ]) {
      const { json } = await post(path, { model: 'tiny', messages, tools, tool_choice })
      const { message, finish_reason } = json.choices[0]
      assert.deepEqual([message.content, finish_reason], [null, reason])
      const [{ id, ...call }] = message.tool_calls
      assert.match(id, /^call_\w{32}$/)
      assert.deepEqual(call, { type: 'function', function: { name: 'count', arguments: '{"n":4}' } })
      const { answer, input } = asked.at(-1) ?? assert.fail()
      assert.equal(answer.kind === 'calls' && answer.isRequired, isRequired)
      assert.deepEqual(input.kind === 'chat' && input.chats[0]?.tools, [
        {
          name: 'count',
          description: 'Counts',
          parameters: { type: 'object', properties: { n: { type: 'integer' } } },
        },
      ])
    }
    const cut = await post(path, { model: 'tiny', messages, tools, tool_choice: 'required', max_tokens: 5 })
    assert.deepEqual(
      [cut.json.choices[0].finish_reason, cut.json.choices[0].message.tool_calls[0].function.arguments],
      ['length', '{"n":'],
    )
    const none = await post(path, { model: 'tiny', messages, tools, tool_choice: 'none' })
    assert.equal(none.json.choices[0].message.content, 'The cat')
    await post(path, { model: 'tiny', messages, tools, parallel_tool_calls: false })
    const { answer } = asked.at(-1) ?? assert.fail()
    assert.ok(answer.kind === 'calls' && !answer.mayBeSeveral)
  })

  test('streams calls: the name first, then the arguments as they grow', async () => {
    const sent = await events(path, { model: 'tiny', messages, tools })
    const chunks = sent.slice(0, -1).map((text) => JSON.parse(text).choices[0])
    const [first, ...more] = chunks.map(({ delta }) => delta)
    const { id, ...call } = first.tool_calls[0]
    assert.match(id, /^call_/)
    assert.deepEqual(
      [first.role, first.content, call],
      ['assistant', null, { index: 0, type: 'function', function: { name: 'count', arguments: '' } }],
    )
    assert.deepEqual(more, [
      { tool_calls: [{ index: 0, function: { arguments: '{"n"' } }] },
      { tool_calls: [{ index: 0, function: { arguments: ':4}' } }] },
      {},
    ])
    assert.equal(chunks.at(-1).finish_reason, 'tool_calls')
  })

  test('takes the calls and results of earlier turns', async () => {
    const call = { id: 'call_1', type: 'function', function: { name: 'count', arguments: '{"n": 4}' } }
    const said = [
      ...messages,
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: '5' },
    ]
    assert.equal((await post(path, { model: 'tiny', messages: said, tools })).status, 200)
    assert.deepEqual(messagesOf(asked.at(-1)), [
      ...messages,
      { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'count', arguments: '{"n": 4}' }] },
      { role: 'tool', content: '5', callId: 'call_1' },
    ])
  })

  const schemaAt = 'response_format.json_schema.schema'
  const ofSchema = (schema: object) => ({
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
  })
  const field = (schema: object) => ofSchema({ type: 'object', properties: { a: schema } })
  const callOf = (text: string) => ({ id: 'a', type: 'function', function: { name: 'f', arguments: text } })
  const refused: [string, object][] = [
    ['n', { n: 129 }],
    ['logprobs', { logprobs: 1 }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[1].function.name', { tools: [...tools, ...tools] }],
    [
      'tools[0].function.parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'string' } } }] },
    ],
    ['structured_outputs', { tools, structured_outputs: { regex: 'a' } }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }],
    ['messages[0].tool_calls', { messages: [{ role: 'assistant', tool_calls: [callOf('{}')] }] }],
    ['messages[0].tool_calls', { messages: [{ role: 'assistant', tool_calls: [callOf('{}')] }, ...messages] }],
    ['messages[0].tool_calls', { messages: [{ role: 'user', content: 'x', tool_calls: [callOf('{}')] }] }],
    ['messages[0].tool_calls[0].function.arguments', { messages: [{ role: 'assistant', tool_calls: [callOf('[]')] }] }],
    ['tool_choice', { tools, tool_choice: { type: 'function', function: { name: 'other' } } }],
    [
      'tools[0].function.parameters#/properties/a/not',
      { tools: [toolOf({ a: { not: {} } })], tool_choice: 'required' },
    ],
    ['tool_choice', { tool_choice: 'required' }],
    ['presence_penalty', { presence_penalty: 2.5 }],
    ['store', { store: true }],
    ['temperature', { temperature: 2.5 }],
    ['reasoning_effort', { reasoning_effort: 'low' }],
    ['messages', { messages: [] }],
    ['messages[0].role', { messages: [{ role: 'function', content: 'x' }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    [`${schemaAt}#/properties/a/anyOf/1/uniqueItems`, field({ anyOf: [{}, { type: 'array', uniqueItems: true }] })],
    ['structured_outputs', { structured_outputs: { regex: 'a', choice: ['a'] } }],
    ['structured_outputs', { structured_outputs: {} }],
    ['structured_outputs', { structured_outputs: { regex: 'a' }, ...field({ type: 'string' }) }],
  ]
  for (const [param, change] of refused)
    test(`names ${param} in its refusal of ${JSON.stringify(change).slice(0, 60)}`, async () => {
      const { status, json, headers } = await post(path, { model: 'tiny', messages, ...change })
      assert.equal(status, 400, JSON.stringify(json))
      assert.equal(json.error.param, param, JSON.stringify(json))
      assert.equal(json.error.type, 'invalid_request_error')
      assert.match(headers['content-type'] ?? '', /^application\/json/)
    })

  test('takes fields that ask for nothing', async () => {
    const nothing = {
      n: 1,
      logprobs: false,
      tools: [],
      tool_choice: 'auto',
      logit_bias: {},
      metadata: { trace: 'a' },
      reasoning_effort: null,
      user: 'u',
      store: false,
    }
    const nulls = { temperature: null, stop: null, response_format: null, stream_options: null, functions: null }
    assert.equal((await post(path, { model: 'tiny', messages, ...nothing, ...nulls })).status, 200)
  })

  test('completes prompts in the form of text completions', async () => {
    const { json } = await post('/openai/v1/completions', { model: 'tiny', prompt: ['a', 'b'], temperature: 0 })
    assert.equal(json.object, 'text_completion')
    assert.deepEqual(json.choices[1], { index: 1, text: 'The cat', logprobs: null, finish_reason: 'stop' })
    assert.deepEqual(asked.at(-1)?.answer, { kind: 'text', maxTokens: 16 })
    assert.deepEqual(asked.at(-1)?.sampling, { temperature: 0, topP: null, seed: null, stop: [] })
    const sent = await events('/openai/v1/completions', { model: 'tiny', prompt: 'a' })
    assert.deepEqual(
      sent.slice(0, -1).map((text) => JSON.parse(text).choices[0].text),
      ['The', ' cat', ''],
    )
  })

  test('streams the answers to several prompts, each by its index', async () => {
    const prompt = Array.from({ length: 40 }, (_, at) => `prompt ${at}`)
    const body = { model: 'tiny', prompt, stream_options: { include_usage: true } }
    const sent = (await events('/openai/v1/completions', body)).slice(0, -1).map((text) => JSON.parse(text))
    assert.deepEqual(sent.pop().usage, { prompt_tokens: 200, completion_tokens: 80, total_tokens: 280 })
    const byIndex = Map.groupBy(sent, ({ choices }) => choices[0].index)
    assert.equal(byIndex.size, 40)
    for (const chunks of byIndex.values()) {
      assert.deepEqual(
        chunks.map(({ choices }) => [choices[0].text, choices[0].finish_reason]),
        [
          ['The', null],
          [' cat', null],
          ['', 'stop'],
        ],
      )
    }
    fails = 1
    const failed = await events('/openai/v1/completions', { model: 'tiny', prompt })
    assert.equal(JSON.parse(failed.at(-1) ?? '').error.code, 'unavailable')
    const empty = await post('/openai/v1/completions', { model: 'tiny', prompt: [], stream: true })
    assert.equal(empty.json.error.param, 'prompt')
  })

  test('takes messages without content from the assistant alone, and names beside messages', async () => {
    const said = [
      { role: 'user', content: 'Hello', name: 'ann' },
      { role: 'assistant', content: null, tool_calls: null },
      { role: 'assistant' },
      { role: 'user', content: 'Who?' },
    ]
    assert.equal((await post(path, { model: 'tiny', messages: said })).status, 200)
    assert.deepEqual(messagesOf(asked.at(-1)), [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'Who?' },
    ])
    const { error } = (await post(path, { model: 'tiny', messages: [{ role: 'user', content: null }] })).json
    assert.deepEqual([error.param, error.message], ['messages[0].content', 'messages[0].content is required.'])
  })

  test('embeds texts as floats or as their bytes', async () => {
    const ask = async (more: object) =>
      (await post('/openai/v1/embeddings', { model: 'mini', input: ['a'], ...more })).json
    const list = await ask({})
    assert.deepEqual(list.data, [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }])
    assert.deepEqual(list.usage, { prompt_tokens: 3, total_tokens: 3 })
    const { data } = await ask({ encoding_format: 'base64' })
    const bytes = Buffer.from(data[0].embedding, 'base64')
    assert.deepEqual([bytes.readFloatLE(0), bytes.readFloatLE(4)], [0.5, -0.25])
    assert.equal((await ask({ dimensions: 2 })).data.length, 1)
    const { error } = await ask({ dimensions: 3 })
    assert.deepEqual([error.param, /must be 2/.test(error.message)], ['dimensions', true])
    assert.match(
      (await ask({ input: [[5, 6]] })).error.message,
      /^input\[0\] must be a string: token ids are not supported\.$/,
    )
  })

  test('refuses in its own form wherever it is asked', async () => {
    const nowhere = await edge.call('GET', '/openai/v1/nothing')
    assert.deepEqual([nowhere.status, nowhere.json.error.code], [404, 'not_found'])
    const method = await edge.call('GET', path)
    assert.deepEqual([method.status, method.headers['allow']], [405, 'POST'])
    const key = await edge.call('POST', path, { json: {}, key: 'sk-wrong' })
    assert.deepEqual([key.status, key.json.error.code], [401, 'invalid_api_key'])
    const model = await post('/openai/v1/completions', { model: 'mini', prompt: 'a' })
    assert.deepEqual([model.status, model.json.error.param], [400, 'model'])
    const json = await edge.call('POST', path, { body: '{', headers: { 'content-type': 'application/json' } })
    assert.deepEqual([json.status, json.json.error.param], [400, null])
  })
})
