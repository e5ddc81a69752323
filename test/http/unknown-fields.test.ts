// Misspelt fields of requests: accepted, because clients of the original platform send many, and told in a header.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { promptsOf, type CompletionRequest } from '../../src/inference/request.ts'
import { startPublic } from './support.ts'

suite('an unknown field', async () => {
  const edge = await startPublic({
    inference: {
      complete: ({ input }: CompletionRequest) => {
        const prompts = promptsOf(input)
        return Promise.resolve({
          outputs: prompts.map((prompt) => ({ output: prompt === 'Who?' ? 'Me.' : '' })),
          finishReasons: prompts.map(() => 'stop'),
        })
      },
      embed: () => Promise.resolve({ vectors: [[0, 1]], tokens: 1 }),
    },
    database: {
      datasets: { findForUpload: () => Promise.resolve(null) },
      webhooks: { list: () => Promise.resolve([]) },
    },
  })
  const complete = async (sent: object, path = '/v1/completions') => {
    const { status, json, headers } = await edge.call('POST', path, {
      json: { model_name: 'tiny', prompt: 'Who?', ...sent },
    })
    assert.equal(status, 200, JSON.stringify(json))
    return { json, warning: headers['x-anneal-warning'] ?? null }
  }
  const temprature = '"temprature" is not known and has no effect. Did you mean temperature?'

  test('is told with the name that was meant, and the body stays as it is', async () => {
    assert.deepEqual(await complete({ temprature: 1 }), { json: { output: 'Me.' }, warning: temprature })
    const { json, warning } = await complete({ temprature: 1, include_row: true }, '/v2/completions')
    assert.deepEqual(json, { outputs: [{ output: 'Me.' }], finish_reason: ['stop'] })
    assert.equal(warning, `${temprature} "include_row" is not known and has no effect. Did you mean include_rows?`)
    assert.match(String((await complete({ system_prompt: 'Rhyme.' })).warning), /Did you mean system\?$/)
  })

  test('is no reason for a warning when it is null, or known', async () => {
    const known = { temperature: 0, max_tokens: 8, top_p: 1, seed: 1, stop: ['x'], out_type: null, id: null }
    assert.equal((await complete({ ...known, temprature: null })).warning, null)
  })

  test('is told beside what the answer is warned of', async () => {
    const { warning } = await complete({ prompt: 'Why?', temprature: 1 })
    assert.equal(warning, `${temprature} The answer is empty: the model ended at once.`)
  })

  test('of the original platform is told without a proposal', async () => {
    const { warning } = await complete({ model_config: null, cache_id: 7, reservation_id: 7 })
    assert.equal(warning, 'cache_id, reservation_id: no effect here.')
  })

  test('is told in ASCII, and briefly however many there are', async () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`ü${at}`.repeat(20), 1]))
    const { warning } = await complete(many)
    assert.match(String(warning), /^"\\u00fc0.*Other fields have no effect either\.$/)
    assert.ok(String(warning).length < 2000)
  })

  test('is told by the document of the API', async () => {
    const { json } = await edge.call('GET', '/openapi.json')
    const { paths } = json as { paths: Record<string, Record<string, { responses: Record<string, object> }>> }
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        'X-Anneal-Warning' in ((responses['200'] as { headers?: object }).headers ?? {}) ? [`${method} ${path}`] : [],
      ),
    )
    for (const path of ['completions', 'batch_embeddings', 'inference/embedding', 'evaluations', 'data', 'keys'])
      assert.ok(routes.includes(`post /v1/${path}`), path)
    // These tell in the body, or refuse.
    for (const path of ['/v1/train', '/openai/v1/chat/completions']) assert.ok(!routes.includes(`post ${path}`), path)
  })
})
