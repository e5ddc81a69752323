import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { test } from 'node:test'
import { promptsOf, type CompletionRequest } from '../../src/inference/request.ts'
import { apiKey, startPublic } from './support.ts'

const seen: CompletionRequest[] = []
const embedded: string[] = []
const edge = await startPublic({
  inference: {
    complete: (request: CompletionRequest) => {
      seen.push(request)
      const prompts = promptsOf(request.input)
      return Promise.resolve({
        outputs: prompts.map((prompt) => ({ output: String(prompt).toUpperCase() })),
        finishReasons: prompts.map(() => 'stop'),
      })
    },
    embed: ({ texts, onLong }: { texts: string[]; onLong: string }) => {
      embedded.push(onLong)
      return Promise.resolve(texts.map(() => [0.6, 0.8]))
    },
  },
  database: { models: { find: () => Promise.resolve(null) } },
})
const complete = (json: object) => edge.call('POST', '/v1/completions', { json: { model_name: 'tiny', ...json } })
const embed = (json: object) => edge.call('POST', '/v1/inference/embedding', { json })

test('a prompt gives an object, a list a list, an empty list an empty one', async () => {
  assert.deepEqual((await complete({ prompt: 'a' })).json, { output: 'A' })
  assert.deepEqual((await complete({ prompt: ['a'] })).json, [{ output: 'A' }])
  assert.deepEqual((await complete({ prompt: ['b', 'a'] })).json, [{ output: 'B' }, { output: 'A' }])
  assert.deepEqual((await complete({ prompt: [] })).json, [])
  assert.deepEqual((await complete({ prompt: '' })).json, { output: '' })
})

test('needs no query for a base model', async () => {
  const { call } = await startPublic({
    inference: { complete: () => Promise.resolve({ outputs: [{ output: 'A' }], finishReasons: ['stop'] }) },
    database: { models: null, storedRows: null },
  })
  const { json } = await call('POST', '/v1/completions', { json: { model_name: 'tiny', prompt: 'a' } })
  assert.deepEqual(json, { output: 'A' })
})

test('ignores the other fields of old clients', async () => {
  const { status } = await complete({
    prompt: 'a',
    output_type: null,
    out_type: {},
    max_tokens: null,
    max_new_tokens: 5,
    model_config: { any: 1 },
    cache_id: 3,
    reservation_id: null,
    stop: null,
  })
  assert.equal(status, 200)
  assert.deepEqual(seen.at(-1)?.answer, { kind: 'text', maxTokens: 5 })
})

test('the smaller of both token limits holds', async () => {
  await complete({ prompt: 'a', max_tokens: 7, max_new_tokens: 9 })
  assert.equal(seen.at(-1)?.answer.maxTokens, 7)
})

test('wrong parameters are 400 naming the field', async () => {
  const wrong: [string, object][] = [
    ['prompt', {}],
    ['prompt', { prompt: null }],
    ['prompt', { prompt: 5 }],
    ['prompt[0]', { prompt: [1] }],
    ['prompt', { prompt: { a: 1 } }],
    ['model_name', { prompt: 'a', model_name: null }],
    ['model_name', { prompt: 'a', model_name: 5 }],
    ['max_tokens', { prompt: 'a', max_tokens: 0 }],
    ['max_tokens', { prompt: 'a', max_tokens: 1_000_001 }],
    ['max_tokens', { prompt: 'a', max_tokens: '5' }],
    ['max_new_tokens', { prompt: 'a', max_new_tokens: 1.5 }],
    ['temperature', { prompt: 'a', temperature: -1 }],
    ['top_p', { prompt: 'a', top_p: 0 }],
    ['seed', { prompt: 'a', seed: 0.5 }],
    ['stop[0]', { prompt: 'a', stop: [''] }],
    ['output_type', { prompt: 'a', output_type: ['str'] }],
    ['output_type.a', { prompt: 'a', output_type: { a: 'date' } }],
    ['output_type.a', { prompt: 'a', output_type: { a: [] } }],
    ['output_type.constructor', { prompt: 'a', out_type: { constructor: 'str' } }],
    ['out_type', { prompt: 'a', output_type: { a: 'str' }, out_type: { a: 'int' } }],
  ]
  for (const [path, json] of wrong) {
    const { status, json: problem } = await complete(json)
    assert.deepEqual([status, problem.errors?.[0].path], [400, path], JSON.stringify(json))
  }
})

test('__proto__ as a field is refused, not dropped', async () => {
  const body = '{"model_name": "tiny", "prompt": "a", "output_type": {"__proto__": "str"}}'
  const received = await edge.call('POST', '/v1/completions', { body, headers: { 'content-type': 'application/json' } })
  assert.equal(received.status, 400)
})

test('both names of the output type are fine when they say the same', async () => {
  const { status } = await complete({
    prompt: [],
    output_type: { a: 'str', b: '#int' },
    out_type: { b: 'integer', a: 'string' },
  })
  assert.equal(status, 200)
})

test('10,000 prompts are accepted; 10,001 are 400 naming the limit', async () => {
  assert.equal((await complete({ prompt: Array(10_000).fill('a') })).json.length, 10_000)
  for (const call of [complete, embed]) {
    const { status, json } = await call({ prompt: Array(10_001).fill('a') })
    assert.equal(status, 400)
    assert.match(json.detail, /10000/)
  }
})

test('a body of several megabytes is taken', async () => {
  assert.equal((await complete({ prompt: 'a'.repeat(5_000_000) })).status, 200)
})

test('lone surrogates are 400, NUL is a character like others', async () => {
  const send = (prompt: string) =>
    edge.call('POST', '/v1/completions', {
      body: `{"model_name": "tiny", "prompt": "${prompt}"}`,
      headers: { 'content-type': 'application/json' },
    })
  assert.equal((await send('\\ud800')).status, 400)
  assert.equal((await send('\\ud83d\\ude00 \\u0000')).status, 200)
})

test('NUL in the name of a model is 400: names are looked up', async () => {
  for (const { status, json } of [
    await complete({ prompt: 'a', model_name: 'a\0' }),
    await embed({ prompt: 'a', model_name: 'a\0' }),
  ])
    assert.deepEqual([status, json.detail], [400, 'model_name must not contain NUL characters.'])
})

test('an unknown model is 404 naming it, 594 to an old client', async () => {
  for (const path of ['/v1/completions', '/v1/embedding']) {
    const json = { prompt: 'a', model_name: 'nope' }
    const { status, json: problem } = await edge.call('POST', path, { json })
    assert.deepEqual([status, problem.code], [404, 'model_not_found'])
    assert.match(problem.detail, /nope/)
    assert.equal((await edge.call('POST', path, { json, headers: { 'lamini-version': '3.2.22' } })).status, 594)
  }
})

test('embeddings: text gives a vector, a list a list', async () => {
  assert.deepEqual((await embed({ prompt: 'a' })).json, { embedding: [0.6, 0.8] })
  assert.deepEqual((await embed({ prompt: ['a', 'b'], model_name: null })).json, {
    embedding: [
      [0.6, 0.8],
      [0.6, 0.8],
    ],
  })
  assert.deepEqual((await embed({ prompt: [] })).json, { embedding: [] })
  assert.equal((await embed({ prompt: null })).status, 400)
})

test('embeddings: a text is cut only if the client asks for it', async () => {
  const openAi = (json: object) => edge.call('POST', '/openai/v1/embeddings', { json: { model: 'mini', ...json } })
  for (const ask of [
    () => embed({ prompt: 'a' }),
    () => embed({ prompt: 'a', truncate: false }),
    () => openAi({ input: 'a' }),
  ]) {
    assert.equal((await ask()).status, 200)
    assert.equal(embedded.at(-1), 'refuse')
  }
  for (const ask of [() => embed({ prompt: 'a', truncate: true }), () => openAi({ input: 'a', truncate: true })]) {
    assert.equal((await ask()).status, 200)
    assert.equal(embedded.at(-1), 'cut')
  }
  assert.equal((await embed({ prompt: 'a', truncate: 'yes' })).status, 400)
})

test('both lists of models name the limits of their texts', async () => {
  const none = () => Promise.resolve([])
  const { call } = await startPublic({ database: { models: { list: none }, modelServers: { listServed: none } } })
  for (const path of ['/v1/models', '/openai/v1/models']) {
    const { data } = (await call('GET', path)).json
    assert.deepEqual(
      data.map((model: Record<string, unknown>) => [model['id'], model['context_length'], model['max_input_tokens']]),
      [
        ['tiny', 1024, 1024],
        ['mini', 256, 8192],
      ],
    )
  }
})

test('a client that leaves aborts its completion', async () => {
  const { promise: started, resolve: start } = Promise.withResolvers<AbortSignal>()
  const slow = await startPublic({
    inference: {
      complete: ({ signal }: CompletionRequest) => {
        start(signal)
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
      },
    },
  })
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const outgoing = request({ port: slow.port, method: 'POST', path: '/v1/completions', headers })
  outgoing.on('error', () => undefined)
  outgoing.end(JSON.stringify({ model_name: 'tiny', prompt: 'a' }))
  const signal = await started
  assert.equal(signal.aborted, false)
  outgoing.destroy()
  if (!signal.aborted) await once(signal, 'abort')
})
