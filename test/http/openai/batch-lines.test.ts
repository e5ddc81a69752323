import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ServiceError } from '../../../src/domain/service-error.ts'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import type { BatchEndpoint } from '../../../src/domain/inference-batch.ts'
import { createLineAnswers } from '../../../src/http/openai/batch-lines.ts'
import { promptsOf, type CompletionRequest } from '../../../src/inference/request.ts'

suite('a line of a batch', () => {
  let fails: Error | null = null
  let answerBytes = 0
  const usage: unknown[] = []
  const logged: unknown[] = []
  const inference = {
    complete: async ({ input, meter, room }: CompletionRequest) => {
      const prompts = promptsOf(input)
      if (fails) throw fails
      room?.take(answerBytes)
      meter?.countTokens({ promptTokens: 3, completionTokens: 1 })
      return { outputs: prompts.map(() => ({ output: 'yes' })), finishReasons: prompts.map(() => 'stop') }
    },
    embed: async ({ texts }: { texts: string[] }) => texts.map(() => [1, 0]),
  }
  const deps = {
    inference,
    catalogue: parseCatalogue({
      models: [
        { name: 'tiny', task: 'completion', engine: 'transformers', source: { path: 'tiny' }, contextLength: 1024 },
        { name: 'mini', task: 'embedding', engine: 'embedder', source: { package: 'mini' }, contextLength: 256 },
      ],
    }),
    database: { models: { find: async () => null }, storedRows: { exists: async () => false } },
    hasRows: async () => false,
    usage: { add: (key: object) => usage.push(key) },
  }
  const answerLine = createLineAnswers(
    deps as never,
    { error: (...entry: unknown[]) => void logged.push(entry) } as never,
  )
  async function answer(endpoint: BatchEndpoint, body: object, more: object = {}) {
    const line = JSON.stringify({ custom_id: 'mine', method: 'POST', url: endpoint, body, ...more })
    const asked = { id: 'batch_req_1', accountId: 'a', apiKeyId: 'k', endpoint, line }
    const { isError, text } = await answerLine(asked, new AbortController().signal)
    assert.ok(!text.includes('\n'))
    return { isError, ...JSON.parse(text) }
  }

  test('is answered as its route answers alone, and counted for its key', async () => {
    const chat = await answer('/v1/chat/completions', {
      model: 'tiny',
      messages: [{ role: 'user', content: 'Is it?' }],
    })
    assert.deepEqual([chat.isError, chat.custom_id, chat.response.status_code], [false, 'mine', 200])
    assert.equal(chat.response.body.choices[0].message.content, 'yes')
    const texts = await answer('/v1/completions', { model: 'tiny', prompt: ['a', 'b'], n: 2 })
    assert.equal(texts.response.body.choices.length, 4)
    const vectors = await answer('/v1/embeddings', { model: 'mini', input: 'a' })
    assert.deepEqual(vectors.response.body.data[0].embedding, [1, 0])
    assert.ok(usage.every((key) => (key as { apiKeyId: string }).apiKeyId === 'k') && usage.length > 0)
  })

  test('is an error when its answers together are too large', async () => {
    answerBytes = 40 << 20
    const asked = { model: 'tiny', prompt: 'a' }
    assert.equal((await answer('/v1/completions', asked)).isError, false)
    const large = await answer('/v1/completions', { ...asked, n: 2 })
    assert.deepEqual([large.isError, large.response.status_code], [true, 400])
    assert.match(large.response.body.error.message, /more than 64 MiB/)
    answerBytes = 0
  })

  test('is an error in its own words when it is wrong', async () => {
    const cases: [BatchEndpoint, object, object, number, RegExp][] = [
      ['/v1/completions', { model: 'tiny', prompt: 'a', best_of: 2 }, {}, 400, /^best_of must be 1/],
      ['/v1/completions', { model: 'tiny', prompt: 'a', stream: true }, {}, 400, /^stream must be false in a batch/],
      ['/v1/completions', { model: 'nobody', prompt: 'a' }, {}, 404, /nobody/],
      ['/v1/completions', { model: 'tiny' }, {}, 400, /^prompt/],
      ['/v1/completions', {}, { url: '/v1/embeddings' }, 400, /^url must be \/v1\/completions/],
      ['/v1/completions', {}, { method: 'GET' }, 400, /^method must be "POST"\.$/],
      ['/v1/completions', {}, { priority: 1 }, 400, /^priority is not a known parameter/],
      ['/v1/completions', {}, { custom_id: undefined }, 400, /^custom_id is required/],
    ]
    for (const [endpoint, body, more, status, message] of cases) {
      const { isError, response } = await answer(endpoint, body, more)
      assert.deepEqual([isError, response.status_code], [true, status])
      assert.match(response.body.error.message, message)
    }
  })

  test('is tried again later when the model is away, and fails alone on a bug', async () => {
    fails = new ServiceError('unavailable', 'The model is starting.')
    await assert.rejects(answer('/v1/completions', { model: 'tiny', prompt: 'a' }), /The model is starting/)
    fails = new Error('a bug')
    const { isError, response } = await answer('/v1/completions', { model: 'tiny', prompt: 'a' })
    assert.deepEqual([isError, response.status_code, logged.length], [true, 500, 1])
    assert.ok(!response.body.error.message.includes('a bug'))
    fails = null
  })
})
