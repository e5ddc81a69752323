import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FinetuneArgs } from '../../src/domain/training-args.ts'
import { names, startPublic } from './support.ts'

const version = {
  id: 'v',
  accountId: 'a',
  datasetId: 'questions',
  version: 1,
  uploadKey: 'uploads/a/questions/v',
  usedAt: null,
}

test('POST /v1/data gives a place to upload to, at once and again', async () => {
  const edge = await startPublic({
    database: { datasets: { newestVersion: () => Promise.resolve(version), recentUploads: () => Promise.resolve([]) } },
    storage: { presignUpload: (key: string) => Promise.resolve(`http://store/anneal/${key}?X-Amz-Signature=1`) },
  })
  for (const json of [
    { dataset_id: 'questions' },
    { dataset_id: 'questions', upload_base_path: 's3', is_public: null },
  ]) {
    const { status, json: answer } = await edge.call('POST', '/v1/data', { json })
    assert.equal(status, 200)
    assert.deepEqual(answer, {
      upload_base_path: 's3',
      dataset_location: 'http://store/anneal/uploads/a/questions/v?X-Amz-Signature=1',
      dataset_id: 'questions',
    })
  }
})

test('data set ids outside of the alphabet are 400', async () => {
  const edge = await startPublic()
  for (const id of ['', '.a', '../a', 'a/b', 'é', 'a b', 'a'.repeat(129), null, 5, undefined, ['a'], '\u0000'])
    assert.equal((await edge.call('POST', '/v1/data', { json: { dataset_id: id } })).status, 400, String(id))
})

test('the upload base path needs a key and is never azure', async () => {
  const edge = await startPublic()
  assert.deepEqual((await edge.call('GET', '/v1/get-upload-base-path')).json, { upload_base_path: 's3' })
  assert.equal((await edge.call('GET', '/v1/get-upload-base-path', { key: null })).status, 401)
})

test('a base model names every argument that a training takes: anneal train --set refuses others', async () => {
  const none = () => Promise.resolve([])
  const { call } = await startPublic({ database: { models: { list: none }, modelServers: { listServed: none } } })
  const [tiny] = (await call('GET', '/v1/models')).json.data
  assert.deepEqual(Object.keys(tiny.recommended_args).toSorted(), Object.keys(FinetuneArgs.shape).toSorted())
})

test('models lists the catalogue and the tuned models of the account', async () => {
  const tuned = { ...names, name: 'c'.repeat(64), aliases: ['bot@1'], baseModel: 'tiny', createdAt: new Date(5000) }
  const start = { baseModel: 'tiny', state: 'starting', reason: 'loading_model', message: 'Fetching x: 3 of 9 MB.' }
  const edge = await startPublic({
    database: {
      models: { list: () => Promise.resolve([tuned]) },
      modelServers: { listServed: () => Promise.resolve([start, { ...start, baseModel: 'mini', reason: 'killed' }]) },
    },
  })
  const { json } = await edge.call('GET', '/v1/models')
  assert.equal(json.object, 'list')
  assert.deepEqual(
    json.data.map((each: Record<string, unknown>) => [
      each['id'],
      each['base_model'],
      each['created'],
      each['starting'],
      each['display_name'],
    ]),
    [
      ['tiny', null, 0, start.message, 'tiny'],
      ['mini', null, 0, null, 'mini'],
      [tuned.name, 'tiny', 5, start.message, 'questions, run 2'],
    ],
  )
})

test('the list of models comes whole, or in pages that the Link header leads through', async () => {
  const all = Array.from({ length: 1203 }, (_, at) => {
    const name = `${9999 - at}`.padStart(64, 'a')
    return { ...names, name, aliases: [], baseModel: 'tiny', createdAt: new Date(5000), createdMicros: '5000123' }
  })
  const list = (_accountId: string, { after, limit }: { after: { name: string } | null; limit: number }) => {
    const from = after ? all.findIndex(({ name }) => name === after.name) + 1 : 0
    return Promise.resolve(all.slice(from, from + limit))
  }
  const modelServers = { listServed: () => Promise.resolve([]) }
  const edge = await startPublic({ database: { models: { list }, modelServers } })
  const namesOf = (json: { data: { id: string }[] }) => json.data.map(({ id }) => id)
  const ids = all.map(({ name }) => name)
  assert.deepEqual(namesOf((await edge.call('GET', '/v1/models')).json), ['tiny', 'mini', ...ids])

  const found: string[] = []
  let path: string | undefined = '/v1/models?limit=500'
  while (path !== undefined) {
    const { json, headers } = await edge.call('GET', path)
    found.push(...namesOf(json))
    path = /^<(.*)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1]
    assert.equal(headers['link'] === undefined, path === undefined)
  }
  assert.deepEqual(found, ['tiny', 'mini', ...ids])

  for (const query of ['after=none', 'limit=1&after=bW9kZWw6MQ', 'limit=0', 'limit=1001', 'after=%00'])
    assert.equal((await edge.call('GET', `/v1/models?${query}`)).status, 400, query)
  const cursor = Buffer.from(`model:5000123:${ids.at(-1)}`).toString('base64url')
  assert.deepEqual((await edge.call('GET', `/v1/models?after=${cursor}`)).json, { object: 'list', data: [] })
})

test('health, version and the document need no key, right or wrong', async () => {
  const edge = await startPublic({
    database: { check: () => Promise.resolve() },
    storage: { check: () => Promise.resolve() },
  })
  for (const path of ['/healthz', '/readyz', '/v1/version', '/openapi.json'])
    for (const key of [null, 'wrong']) assert.equal((await edge.call('GET', path, { key })).status, 200)
  const { json } = await edge.call('GET', '/v1/version')
  assert.equal(json.server, '0.1.0')
  assert.equal(typeof json.client, 'string')
  // Clients read the API versions from these fields.
  for (const { name, path } of json.api) assert.deepEqual([typeof name, typeof path], ['string', 'string'])
})

test('not ready is 503 naming the unreachable part, while health stays good', async () => {
  const edge = await startPublic({
    database: { check: () => Promise.resolve() },
    storage: { check: () => Promise.reject(new Error('no route to 10.0.0.7')) },
  })
  const { status, headers, json } = await edge.call('GET', '/readyz')
  assert.equal(status, 503)
  assert.match(json.detail, /object store/)
  assert.ok(headers['retry-after'])
  assert.equal((await edge.call('GET', '/healthz')).status, 200)
})

test('data_type describes fields in texts; any other value is 400 naming the field', async () => {
  const edge = await startPublic()
  for (const [value, path] of [
    [{ fact: { text: 3 } }, 'data_type.fact.text'],
    [{ fact: { text: ['a'] } }, 'data_type.fact.text'],
    [{ fact: { text: {} } }, 'data_type.fact.text'],
    [{ fact: { text: null } }, 'data_type.fact.text'],
    [{ fact: 'text' }, 'data_type.fact'],
    ['fact', 'data_type'],
  ] as const) {
    const json = { id: 'facts', data: { fact: { text: 'We open at nine.' } }, data_type: value }
    const received = await edge.call('POST', '/v1/svc/data', { json })
    assert.equal(received.status, 400)
    assert.deepEqual(
      received.json.errors.map((each: { path: string }) => each.path),
      [path],
    )
  }
})

test('more rows under an id than it may hold are 429, and the sentence names the limit', async () => {
  const counts = [500_000, 500_001]
  const storedRows = { add: () => Promise.resolve(), count: () => Promise.resolve(counts.shift()) }
  const { call } = await startPublic({ database: { storedRows } })
  const store = () =>
    call('POST', '/v1/svc/data', { json: { id: 'facts', data: { fact: { text: 'We open at nine.' } } } })
  assert.equal((await store()).status, 200)
  const { status, json, headers } = await store()
  assert.deepEqual([status, json.code], [429, 'quota_exceeded'])
  assert.match(json.detail, /^An id may hold 500000 rows, and this one would hold more\. Delete its rows, or store/)
  assert.ok(Number(headers['retry-after']) > 0)
})
