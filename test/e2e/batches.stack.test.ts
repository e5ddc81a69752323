// Durable batches over HTTP, with the real engine: in order, complete, and with an error in the place of a refused prompt.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

type Completions = {
  outputs: ({ output: string } | null)[]
  finish_reason: (string | null)[]
  errors?: { path: string; message: string }[]
}
type Result = Completions | Record<string, never>

suite('batches', () => {
  let api: Api
  const model_name = connection().baseModel
  const prompts = Array.from({ length: 500 }, (_, index) => `${sampleRows[index % 40]?.input} (${index})`)
  const tooLong = 'word '.repeat(20_000)
  const submit = async (path: string, body: object) =>
    (await api.post<{ id: string }>(path, { model_name, ...body })).id
  const isDone = (result: Result): result is Completions => 'outputs' in result && !result.finish_reason.includes(null)
  const results = (path: string, id: string) => `${path}/${id}/result`

  before(async () => {
    api = await openAccount()
  })

  /** Polls as clients do until the batch is done. */
  async function follow(path: string, id: string) {
    const looks: Completions[] = []
    await eventually(async () => {
      const result = await api.get<Result>(results(path, id))
      if ('outputs' in result) looks.push(result as Completions)
      return isDone(result)
    })
    return looks
  }

  test('a text can be read while it grows, and ends as a plain request ends', async () => {
    const body = { prompt: sampleRows.slice(0, 3).map(({ input }) => input), max_new_tokens: 120 }
    const looks = await follow('/v3/streaming_completions', await submit('/v3/streaming_completions', body))
    for (const [index, { outputs }] of looks.entries())
      for (const [at, output] of outputs.entries())
        assert.ok(looks.at(-1)?.outputs[at]?.output.startsWith(output?.output ?? ''), `look ${index}`)
    const plain = await api.post<{ outputs: unknown[]; finish_reason: string[] }>('/v2/completions', {
      model_name,
      ...body,
    })
    assert.deepEqual(looks.at(-1), plain)
  })

  test('typed answers keep their types and their order', async () => {
    const body = { prompt: prompts.slice(0, 3), output_type: { 'b"': 'float', a: 'int', on: ['yes', 'no'] } }
    const looks = await follow('/v1/batch_completions', await submit('/v1/batch_completions', body))
    assert.deepEqual(looks.at(-1)?.outputs, await api.post('/v1/completions', { model_name, ...body }))
    assert.deepEqual(Object.keys(looks.at(-1)?.outputs[0] ?? {}), ['b"', 'a', 'on'])
  })

  test('embeddings come all at once, from the object store when they are many', async () => {
    const { id } = await api.post<{ id: string }>('/v1/batch_embeddings', { prompt: prompts })
    const seen: unknown[] = []
    const embedding = await eventually(async () => {
      const result = await api.get<{ embedding?: number[][] }>(results('/v1/batch_embeddings', id))
      if (!result.embedding) seen.push(result)
      return result.embedding
    })
    assert.ok(seen.every((result) => Object.keys(result as object).length === 0))
    assert.equal(embedding.length, 500)
    const { embedding: some } = await api.post<{ embedding: number[][] }>('/v1/inference/embedding', {
      prompt: [prompts[0], prompts[300]],
    })
    for (const [at, index] of [0, 300].entries())
      for (const [axis, value] of (embedding[index] ?? []).entries())
        assert.ok(Math.abs(value - (some[at]?.[axis] ?? 9)) < 1e-4)
  })

  test('an empty batch is done at once', async () => {
    const id = await submit('/v1/batch_completions', { prompt: [] })
    const result = await eventually(async () => {
      const answer = await api.get<Result>(results('/v1/batch_completions', id))
      return 'outputs' in answer && answer
    })
    assert.deepEqual(result, { outputs: [], finish_reason: [] })
  })

  test('a refused prompt leaves the others answered, and is named by its place in the whole list', async () => {
    const [before, after] = [prompts.slice(0, 200), prompts.slice(200, 210)]
    const id = await submit('/v1/batch_completions', { prompt: [...before, tooLong, ...after], max_tokens: 4 })
    const looks = await follow('/v1/batch_completions', id)
    const { outputs, finish_reason, errors } = looks.at(-1) ?? assert.fail()
    const plain = await api.post<unknown[]>('/v1/completions', {
      model_name,
      prompt: [...before, ...after],
      max_tokens: 4,
    })
    assert.deepEqual(outputs, [...plain.slice(0, 200), null, ...plain.slice(200)])
    assert.equal(finish_reason[200], 'error')
    assert.deepEqual(
      errors?.map(({ path }) => path),
      ['prompt[200]'],
    )
    assert.match(errors?.[0]?.message ?? '', /position 200 is too long/)
  })

  test('a batch of refused prompts alone fails with the first reason', async () => {
    const id = await submit('/v1/batch_completions', { prompt: [tooLong, tooLong], max_tokens: 4 })
    const refused = await eventually(async () => {
      const { status, body } = await api.request<{ detail: string; code: string }>(
        'GET',
        results('/v1/batch_completions', id),
      )
      return status !== 200 && { status, ...body }
    })
    assert.equal(refused.status, 409)
    assert.match(refused.detail, /position 0 is too long/)
  })

  test('the same Idempotency-Key is the same batch', async () => {
    const post = (prompt: string) =>
      api.request<{ id: string }>(
        'POST',
        '/v1/batch_completions',
        { model_name, prompt, max_tokens: 4 },
        { 'idempotency-key': 'once' },
      )
    const [first, second] = await Promise.all([post('a'), post('a')])
    assert.equal(first.body.id, second.body.id)
    assert.equal((await post('b')).status, 422)
  })

  test('are refused at once when the request is malformed', async () => {
    for (const [path, body, status] of [
      ['/v1/batch_completions', { model_name }, 400],
      ['/v1/batch_completions', { model_name, prompt: [1] }, 400],
      ['/v1/batch_completions', { model_name, prompt: 'a', output_type: { a: 'date' } }, 400],
      ['/v1/batch_completions', { model_name, prompt: Array.from({ length: 10_001 }, () => 'a') }, 400],
      ['/v1/batch_completions', { model_name: 'no-such-model', prompt: 'a' }, 404],
      ['/v3/streaming_completions', { model_name: 'no-such-model', prompt: 'a' }, 404],
      ['/v1/batch_embeddings', { model_name: 'no-such-model', prompt: 'a' }, 404],
      ['/v1/batch_embeddings', {}, 400],
      ['/v1/reservation', { capacity: 'many' }, 400],
    ] as const)
      assert.equal(
        (await api.request('POST', path, body)).status,
        status,
        `${path} ${JSON.stringify(body).slice(0, 80)}`,
      )
  })

  test("another account's batch, another kind's and no batch are one answer", async () => {
    const id = await submit('/v1/batch_completions', { prompt: 'a', max_tokens: 4 })
    const stranger = await openAccount()
    const gone = async (who: Api, path: string) => {
      const { status, body } = await who.request<{ detail: string }>('GET', path)
      return [status, body.detail.replaceAll(/[0-9a-f-]{36}/g, 'ID')]
    }
    const missing = await gone(api, results('/v1/batch_completions', '00000000-0000-4000-8000-000000000000'))
    assert.equal(missing[0], 404)
    assert.deepEqual(await gone(stranger, results('/v1/batch_completions', id)), missing)
    assert.deepEqual(await gone(api, results('/v1/batch_embeddings', id)), missing)
    assert.equal((await gone(api, results('/v1/batch_completions', 'x')))[0], 404)
  })
})
