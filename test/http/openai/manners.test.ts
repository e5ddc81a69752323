// What clients of OpenAI's API rely on beside its routes: where it is, and what its refusals say.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { promptTooLong } from '../../../src/inference/input-errors.ts'
import { promptsOf, type CompletionRequest } from '../../../src/inference/request.ts'
import { names, startPublic, trainingJob } from '../support.ts'

const messages = [{ role: 'user', content: 'Who?' }]

suite("The manners of OpenAI's API", async () => {
  const listed: unknown[] = []
  const edge = await startPublic(
    {
      inference: {
        complete: ({ baseModel, input }: CompletionRequest) => {
          const prompts = promptsOf(input)
          if (prompts.some((prompt) => String(prompt).includes('long'))) throw promptTooLong(baseModel, 0)
          return Promise.resolve({ outputs: prompts.map(() => ({ output: 'x' })), finishReasons: ['stop'] })
        },
      },
      database: {
        models: { find: () => Promise.resolve(null), list: () => Promise.resolve([]) },
        trainingJobs: {
          list: (_account: string, filter: unknown) => Promise.resolve(listed.push(filter) && []),
          findMany: () => Promise.resolve([]),
          find: () => Promise.resolve(trainingJob()),
        },
      },
    },
    { corsOrigins: ['https://app.example.com'] },
  )
  const post = (path: string, json: object) => edge.call('POST', path, { json })
  const refused = async (call: ReturnType<typeof edge.call>) => {
    const { status, json } = await call
    return { status, ...json.error } as { status: number; message: string; param: string | null; code: string | null }
  }

  test('names every problem in the message, which stands alone', async () => {
    const body = { model: 5, messages: [], n: 0, unknown: 1 }
    const { message, param } = await refused(post('/openai/v1/chat/completions', body))
    assert.equal(param, 'model')
    assert.match(message, /^model must be a string\. n must be at least 1\. messages must not be empty\./)
    assert.match(message, /unknown is not a known parameter\.$/)
    const many = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`unknown_${at}`, at]))
    const long = await refused(post('/openai/v1/chat/completions', { model: 'tiny', messages, ...many }))
    assert.match(long.message, /unknown_9 is not a known parameter\. 5 more problems\.$/)
  })

  test('names the problem inside the alternative that a value can only mean', async () => {
    const chat = (more: object) => refused(post('/openai/v1/chat/completions', { model: 'tiny', messages, ...more }))
    const respond = (input: unknown, more: object = {}) =>
      refused(post('/openai/v1/responses', { model: 'tiny', input, ...more }))
    for (const [refusal, param, sentence] of [
      [respond(5), 'input', /^input must be a string or a list\.$/],
      [respond([{ role: 'user' }]), 'input[0].content', /^input\[0\]\.content is required\.$/],
      [respond([{ type: 'reasoning' }]), 'input[0]', /must be a message, a function_call or/],
      [respond('a', { text: { format: { type: 'json_schema', schema: {} } } }), 'text.format.name', /is required/],
      [respond('a', { text: { format: { type: 'xml' } } }), 'text.format', /must have the type text, json_object or/],
      [
        chat({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }),
        'messages[0].content[0].type',
        /"text"/,
      ],
      [chat({ stop: ['a', 5] }), 'stop[1]', /must be a string/],
      [chat({ tool_choice: { type: 'function', function: {} } }), 'tool_choice.function.name', /is required/],
    ] as const) {
      const { status, message, param: named } = await refusal
      assert.deepEqual([status, named], [400, param])
      assert.match(message, sentence)
    }
  })

  test('says that a prompt is too long as OpenAI does', async () => {
    for (const [path, body, param] of [
      ['chat/completions', { messages: [{ role: 'user', content: 'long' }] }, 'messages'],
      ['completions', { prompt: 'long' }, 'prompt[0]'],
    ] as const) {
      const error = await refused(post(`/openai/v1/${path}`, { model: 'tiny', ...body }))
      assert.deepEqual([error.status, error.code, error.param], [400, 'context_length_exceeded', param])
      assert.match(error.message, /This model's maximum context length is 1024 tokens/)
    }
    const { json } = await post('/v1/completions', { model_name: 'tiny', prompt: 'long' })
    assert.equal(json.code, 'invalid_input')
  })

  test('says that a key is wrong as OpenAI does', async () => {
    const error = await refused(edge.call('GET', '/openai/v1/models', { key: 'sk-wrong' }))
    assert.deepEqual([error.status, error.code], [401, 'invalid_api_key'])
    assert.match(error.message, /^Incorrect API key provided/)
  })

  test('points to its own list of models', async () => {
    for (const call of [
      post('/openai/v1/chat/completions', { model: 'none', messages }),
      edge.call('GET', '/openai/v1/models/none'),
    ])
      assert.match((await refused(call)).message, /GET \/openai\/v1\/models lists/)
  })

  test('refuses unknown parameters of a query by name', async () => {
    for (const [path, param] of [
      ['/openai/v1/models?limit=3', 'limit'],
      ['/openai/v1/files?before=x', 'before'],
      ['/openai/v1/fine_tuning/jobs?status=failed', 'status'],
      ['/openai/v1/fine_tuning/jobs?metadata=null', 'metadata'],
      ['/openai/v1/fine_tuning/jobs?metadata[]=x', 'metadata[]'],
      ['/openai/v1/fine_tuning/jobs/ftjob-7?verbose=1', 'verbose'],
      ['/openai/v1/fine_tuning/jobs/ftjob-7/events?stream=true', 'stream'],
    ] as const) {
      const error = await refused(edge.call('GET', path))
      assert.deepEqual([error.status, error.param], [400, param], path)
    }
    assert.equal((await refused(post('/openai/v1/completions?stream=true', {}))).param, 'stream')
  })

  test('filters jobs by pairs of their metadata', async () => {
    const query = 'metadata[team]=red&metadata%5Ba%20b%5D=1&limit=2'
    assert.equal((await edge.call('GET', `/openai/v1/fine_tuning/jobs?${query}`)).status, 200)
    assert.deepEqual(listed.at(-1), { limit: 3, after: null, status: null, metadata: { team: 'red', 'a b': '1' } })
    assert.equal((await edge.call('GET', '/openai/v1/fine_tuning/jobs')).status, 200)
    assert.deepEqual(listed.at(-1), { limit: 21, after: null, status: null, metadata: null })
  })

  test('tells a client with a wrong base URL where the API is', async () => {
    for (const path of ['/v1/chat/completions', '/v1/embeddings', '/chat/completions', '/openai/chat/completions']) {
      const { status, json } = await post(path, {})
      assert.equal(status, 404, path)
      assert.match(json.detail ?? json.error.message, /base URL with \/openai\/v1\.$/, path)
    }
    const { json } = await edge.call('GET', '/v1/nothing')
    assert.equal(json.detail, 'There is no route GET /v1/nothing.')
  })

  test('gives a tuned model one name in its job, its checkpoints and the list, which ends with its id', async () => {
    const modelName = 'b'.repeat(64)
    const spec = { args: { seed: 1, batch_size: 1, gradient_accumulation_steps: 1, learning_rate: 1 } }
    const listedAs = (aliases: string[]) => ({
      ...names,
      name: modelName,
      baseModel: 'tiny',
      createdAt: new Date(0),
      aliases,
    })
    for (const [customModelName, aliases, suffix] of [
      ['support bot:x', ['support bot:x@3', 'support bot:x@production'], 'support-bot-x'],
      [null, [], ''],
      ['a@b', [], ''],
      ['n'.repeat(256), [`${'n'.repeat(256)}@1`], 'n'.repeat(40)],
    ] as const) {
      const job = trainingJob({ modelName, customModelName, spec: spec as never, status: 'COMPLETED' })
      const { call } = await startPublic({
        database: {
          models: { list: () => Promise.resolve([listedAs([...aliases])]) },
          trainingJobs: { find: () => Promise.resolve(job) },
          artifacts: {
            listUsable: () => Promise.resolve([]),
            newestModel: () => Promise.resolve({ id: '1', step: 3, committedAt: new Date(0) }),
          },
          trainingSteps: { find: () => Promise.resolve([]) },
        },
      })
      const id = `ft:tiny:11111111:${suffix}:${modelName}`
      const path = '/openai/v1/fine_tuning/jobs/ftjob-7'
      assert.equal((await call('GET', path)).json.fine_tuned_model, id)
      assert.equal((await call('GET', `${path}/checkpoints`)).json.data[0].fine_tuned_model_checkpoint, id)
      assert.equal((await call('GET', '/openai/v1/models')).json.data.at(-1).id, id)
      assert.ok(id.length <= 256)
    }
  })

  test('finds a model whose name has a slash, encoded or not, by every method', async () => {
    const name = 'c'.repeat(64)
    const tuned = { name, baseModel: 'tiny', files: [], createdAt: new Date(0), jobId: 7, artifactId: 'none' }
    const asked: string[] = []
    const find = (_account: string, model: string) =>
      Promise.resolve(asked.push(model) && model === 'org/name' ? tuned : null)
    const displayNames = () => Promise.resolve(new Map([[name, 'pip@2']]))
    const { call } = await startPublic({ database: { models: { find, displayNames } } })
    for (const path of ['/openai/v1', '/inf'])
      for (const model of ['org/name', 'org%2Fname', 'org/name/'])
        assert.equal((await call('GET', `${path}/models/${model}`)).json.model_name, name, model)
    assert.equal((await call('GET', '/openai/v1/models/a/b/c')).status, 404)
    assert.equal(asked.at(-1), 'a/b/c')
    const removed = await call('DELETE', '/openai/v1/models/org/name')
    assert.deepEqual([removed.status, removed.json.error.message.includes('org/name')], [400, true])
    assert.equal((await call('POST', '/openai/v1/models/org/name')).headers['allow'], 'GET, HEAD, DELETE')
    assert.equal((await call('GET', '/openai/v1/models/?x=a/b')).status, 400)
  })

  test('finds a tuned model by a name that begins with ft:', async () => {
    const name = 'a'.repeat(64)
    const tuned = { name, baseModel: 'tiny', files: [], createdAt: new Date(0), jobId: 7, artifactId: 'none' }
    const { call } = await startPublic({
      inference: {
        complete: ({ adapter }: { adapter: { name: string } }) =>
          Promise.resolve({ outputs: [{ output: adapter.name }], finishReasons: ['stop'] }),
      },
      database: {
        models: {
          find: (_account: string, asked: string) => Promise.resolve(asked === name ? tuned : null),
          displayNames: () => Promise.resolve(new Map([[name, 'pip@2']])),
        },
      },
    })
    for (const model of [name, `ft:${name}`, `ft:tiny:my-org:suffix:${name}`, `ft:org/base:my-org::${name}`]) {
      const { json } = await call('POST', '/openai/v1/chat/completions', { json: { model, messages } })
      assert.deepEqual([json.model, json.choices?.[0].message.content], [model, name], model)
      const { id, model_name, display_name } = (await call('GET', `/openai/v1/models/${model}`)).json
      assert.deepEqual([id, model_name, display_name], [model, name, 'pip@2'])
    }
    const { json } = await call('POST', '/openai/v1/chat/completions', { json: { model: 'ft:tiny', messages } })
    assert.equal(json.error.code, 'model_not_found')
  })

  test("takes an expiry of files with its anchor and within OpenAI's bounds only", async () => {
    const expiry = async (...fields: [name: string, value: string][]) => {
      const form = [['purpose', 'batch'], ...fields].map(
        ([name, value]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
      )
      const file = '--b\r\nContent-Disposition: form-data; name="file"\r\n\r\nx\r\n'
      const headers = { 'content-type': 'multipart/form-data; boundary=b' }
      const body = `${form.join('')}${file}--b--\r\n`
      return (await refused(edge.call('POST', '/openai/v1/files', { headers, body }))).message
    }
    const anchor: [string, string] = ['expires_after[anchor]', 'created_at']
    assert.match(await expiry(anchor), /^expires_after needs both anchor and seconds\.$/)
    assert.match(
      await expiry(anchor, ['expires_after[seconds]', '60']),
      /must be a whole number from 3600 to 2592000\.$/,
    )
    assert.match(await expiry(['expires_after[anchor]', 'last_used_at']), /expires_after\[anchor\] must be/)
    assert.match(
      await expiry(anchor, ['expires_after[seconds]', '3600']),
      /^file must be a file with at least one byte\.$/,
    )
  })

  test('is also served under /inf', async () => {
    const { status, json } = await post('/inf/chat/completions', { model: 'tiny', messages })
    assert.deepEqual([status, json.object], [200, 'chat.completion'])
    assert.equal((await edge.call('GET', '/inf/models')).json.data[0].id, 'tiny')
    assert.equal((await refused(post('/inf/completions', {}))).param, 'model')
  })

  test('lets pages of the named origins call it, and no other', async () => {
    const preflight = (origin: string) =>
      edge.call('OPTIONS', '/openai/v1/chat/completions', {
        key: null,
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
    const allowed = await preflight('https://app.example.com')
    assert.equal(allowed.status, 204)
    assert.equal(allowed.headers['access-control-allow-origin'], 'https://app.example.com')
    assert.equal(allowed.headers['access-control-allow-headers'], 'authorization,content-type')
    assert.equal(allowed.headers['access-control-allow-credentials'], undefined)
    const headers = { origin: 'https://app.example.com' }
    for (const key of [undefined, 'sk-wrong']) {
      const answer = await edge.call('GET', '/v1/models', { headers, ...(key !== undefined && { key }) })
      assert.equal(answer.headers['access-control-allow-origin'], 'https://app.example.com')
      assert.match(String(answer.headers['vary']), /Origin/)
    }
    const other = await preflight('https://evil.example.com')
    assert.deepEqual([other.status, other.headers['access-control-allow-origin']], [405, undefined])
    const byDefault = await startPublic()
    const { headers: plain } = await byDefault.call('GET', '/healthz', { key: null, headers })
    assert.equal(plain['access-control-allow-origin'], undefined)
  })
})
