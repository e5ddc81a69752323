// The side routes that SDKs of the old platform call, answered in the forms that they read.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { promptsOf, type CompletionRequest } from '../../src/inference/request.ts'
import { startPublic } from './support.ts'

suite('routes of old clients', async () => {
  const { call } = await startPublic({
    inference: {
      complete: ({ input }: CompletionRequest) =>
        Promise.resolve({
          outputs: promptsOf(input).map((prompt) => ({ output: `${String(prompt)}!` })),
          finishReasons: promptsOf(input).map(() => 'stop'),
        }),
    },
    database: { storedRows: { exists: () => Promise.resolve(false) }, models: { find: () => Promise.resolve(null) } },
  })
  const post = async (path: string, json: object, headers = {}) => (await call('POST', path, { json, headers })).json
  const body = { model_name: 'tiny', prompt: 'a' }

  test('v2 completions list outputs and why they ended, for one prompt too', async () => {
    assert.deepEqual(await post('/v2/completions', body), { outputs: [{ output: 'a!' }], finish_reason: ['stop'] })
    assert.deepEqual(await post('/v2/completions', { ...body, prompt: ['a', 'b'] }), {
      outputs: [{ output: 'a!' }, { output: 'b!' }],
      finish_reason: ['stop', 'stop'],
    })
  })

  test('v1 streaming completions answer as completions, and done at once to the SDKs that poll them', async () => {
    const path = '/v1/streaming_completions'
    assert.deepEqual(await post(path, body), { output: 'a!' })
    assert.deepEqual(await post(path, { ...body, prompt: ['a'], max_tokens: 5 }), [{ output: 'a!' }])
    const polled = { server: null, status: [true], data: [{ output: 'a!' }] }
    assert.deepEqual(await post(path, { ...body, out_type: null, max_tokens: null }), polled)
    assert.deepEqual(await post(path, { ...body, output_type: null, max_tokens: null, server: 's' }), polled)
    assert.deepEqual(await post(path, body, { 'lamini-version': '3.0.5' }), polled)
  })

  test('a reservation advises sizes that never stall a client, from now on', async () => {
    const asked = { capacity: 50_000, model_name: 'tiny', max_tokens: null, batch_size: 5 }
    const { reservation_id, capacity_remaining, dynamic_max_batch_size, start_time, end_time } = await post(
      '/v1/reservation',
      asked,
    )
    assert.ok(Number.isInteger(reservation_id))
    assert.equal(capacity_remaining, 50_000)
    assert.ok(dynamic_max_batch_size >= 1 && dynamic_max_batch_size <= capacity_remaining)
    assert.match(start_time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)
    assert.ok(Math.abs(Date.parse(`${start_time}Z`) - Date.now()) < 5000 && start_time < end_time)
    const { capacity_remaining: least } = await post('/v1/reservation', { ...asked, capacity: 1 })
    assert.ok(least >= dynamic_max_batch_size)
    const unknown = await call('POST', '/v1/reservation', { json: { ...asked, model_name: 'huge' } })
    assert.equal(unknown.status, 404)
  })

  test('the models of the catalogue are at hand, others are not', async () => {
    for (const path of ['/v1alpha/downloaded_models/', '/v1alpha/downloaded_models', '/v1/downloaded_models/']) {
      const { json } = await call('GET', path)
      assert.deepEqual(
        json.map(({ model_name, model_type, status }: Record<string, string>) => [model_name, model_type, status]),
        [
          ['tiny', 'transformer', 'available'],
          ['mini', 'embedding', 'available'],
        ],
      )
    }
    const asked = { hf_model_name: 'small', model_type: 'transformer' }
    assert.equal((await post('/v1alpha/downloaded_models/', asked)).model_name, 'tiny')
    const unknown = await call('POST', '/v1alpha/downloaded_models/', { json: { ...asked, hf_model_name: 'huge' } })
    assert.equal(unknown.status, 404)
  })
})
