import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from './support.ts'

const amount = {
  prompts: 2,
  promptTokens: 9,
  completionTokens: 4,
  engineSeconds: 0.5,
  trainingSeconds: 0,
  gpuSeconds: 1,
  trainingGpuSeconds: 0.1,
  embeddedTokens: 4,
}
const line = { day: '2026-11-20', key: 'abc', model: 'tiny', ...amount }
const asked: unknown[] = []
const stubs = {
  database: {
    apiKeys: { names: () => Promise.resolve(new Map([['abc', 'ci']])) },
    models: { displayNames: () => Promise.resolve(new Map()) },
    usage: {
      list: (_account: string, query: { limit: number }) => {
        asked.push(query)
        return Promise.resolve(Array.from({ length: Math.min(2, query.limit) }, () => line))
      },
    },
  },
}
const edge = await startPublic(stubs)
const get = (query = '') => edge.call('GET', `/v1/usage${query}`)

test('the last 30 days by day, key and model, where nothing is asked', async () => {
  const { status, json } = await get()
  assert.equal(status, 200)
  const { from, to, by, after, limit } = asked.at(-1) as Record<string, unknown>
  assert.deepEqual([by, after, limit], [['day', 'key', 'model'], null, 100])
  const today = new Date().toISOString().slice(0, 10)
  assert.ok(String(to) > today && json.to <= today)
  assert.equal(Date.parse(String(to)) - Date.parse(String(from)), 30 * 24 * 60 * 60 * 1000)
  assert.deepEqual(json.usage[0], {
    day: '2026-11-20',
    key_id: 'abc',
    key_name: 'ci',
    model_name: 'tiny',
    display_name: 'tiny',
    prompts: 2,
    prompt_tokens: 9,
    completion_tokens: 4,
    engine_seconds: 0.5,
    training_seconds: 0,
    gpu_seconds: 1,
  })
  assert.equal(json.next, null)
})

test('a line has its cost where the operator has set prices', async () => {
  const priced = await startPublic({
    ...stubs,
    settings: {
      prices: { currency: 'EUR', perGpuHour: 3.6, perMillionPromptTokens: 1, perMillionEmbeddingTokens: 0.5 },
    },
  })
  const { json } = await priced.call('GET', '/v1/usage')
  // 5 tokens for a millionth each, 4 embedded ones for half of it, and a tenth of a GPU second.
  assert.deepEqual([json.currency, json.usage[0].cost_micros], ['EUR', 5 + 2 + 100])
  assert.deepEqual((asked.at(-1) as { embeddingModels: unknown }).embeddingModels, ['mini'])
})

test('a line names its group; a cursor leads to the next page', async () => {
  const { json } = await get('?from=2026-11-20&to=2026-11-20&group_by=model&limit=2')
  assert.deepEqual(Object.keys(json.usage[0]).slice(0, 3), ['model_name', 'display_name', 'prompts'])
  assert.deepEqual((asked.at(-1) as { to: string }).to, '2026-11-21')
  const second = await get(`?after=${json.next}&limit=2`)
  assert.equal(second.status, 200)
  assert.deepEqual((asked.at(-1) as { after: unknown }).after, { day: '2026-11-20', key: 'abc', model: 'tiny' })
})

test('refuses a bad day, group or cursor by name', async () => {
  const wrong = {
    from: ['2026-02-30', '2026-1-1', 'today', '2026-11-20T00:00:00', '+275760-09-14'],
    to: ['', '0'],
    group_by: ['', 'account', 'day,', 'day;key'],
    limit: ['0', '1001', 'x'],
    after: ['x', Buffer.from('["a"]').toString('base64url'), Buffer.from('[1,2,3]').toString('base64url')],
  }
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) {
      const { status, json } = await get(`?${name}=${encodeURIComponent(value)}`)
      assert.equal(status, 400, `${name}=${value}`)
      assert.equal(json.errors[0].path, name)
    }
  const { status, json } = await get('?from=2026-11-21&to=2026-11-20')
  assert.equal(status, 400)
  assert.equal(json.errors[0].path, 'from')
})
