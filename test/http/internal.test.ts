import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { operatorToken, sha256 } from '../../src/domain/identifiers.ts'
import { startInternal, startPrivate, startPublic } from './support.ts'

const token = 'pod-token'
const attempt = {
  id: randomUUID(),
  jobId: 7,
  number: 2,
  generation: 1,
  fromStep: 0,
  lastStep: null,
  phase: 'LOADING DATA',
}
const isOurs = (hash: Uint8Array) => Buffer.from(hash).equals(sha256(token))
const written: unknown[] = []
const write = (...what: unknown[]) => {
  written.push(what)
  return Promise.resolve()
}

const edge = await startInternal({
  database: {
    attempts: {
      holdUnfenced: (hash: Uint8Array) => Promise.resolve(isOurs(hash) ? attempt : null),
      exists: (hash: Uint8Array) => Promise.resolve(Buffer.from(hash).equals(sha256('old-token'))),
      update: write,
    },
    artifacts: {
      listUsable: () => Promise.resolve([{ id: 'model' }]),
      replaceEvaluation: write,
      create: write,
      find: () => Promise.resolve(null),
    },
    trainingJobs: { get: () => Promise.resolve({ specHash: 'h' }) },
    trainingSteps: { upsertMany: write },
    jobEvents: { add: write, addOnce: write },
    modelServers: {
      reportReady: async (hash: Uint8Array, report: unknown) => {
        await write(report)
        return isOurs(hash)
      },
      removeReplica: (hash: Uint8Array) => Promise.resolve(isOurs(hash)),
    },
    outbox: { add: write },
    check: () => Promise.resolve(),
  },
  storage: {
    partBytes: 100,
    presignPodPut: (key: string) => Promise.resolve(`http://store/${key}`),
    presignPodParts: (key: string) => Promise.resolve([`http://store/${key}?partNumber=1`]),
    check: () => Promise.resolve(),
  },
})
const post = (path: string, json: unknown, key: string | null = token, headers: Record<string, string> = {}) =>
  edge.call('POST', `/internal/v1${path}`, { json, key, headers })

const step = { step: 10, loss: 2.1, learning_rate: 0.0009, epoch: 0.5, iter_time: 0.1, flops: 1.2e9, remaining_time: 9 }

test('every call of the protocol answers 200 with an object', async () => {
  const hash = 'a'.repeat(64)
  const calls: [string, unknown][] = [
    ['/attempt/phase', { phase: 'TRAINING MODEL' }],
    ['/attempt/steps', { steps: [step] }],
    [
      '/attempt/steps',
      {
        steps: [
          { ...step, grad_norm: null, token_accuracy: 0.5, valid_loss: 1.5, valid_token_accuracy: 0.5, valid_rows: 32 },
        ],
      },
    ],
    ['/attempt/steps', { steps: [] }],
    ['/attempt/artifacts', { kind: 'checkpoint', step: 60, files: [{ name: 'a.safetensors', size: 3, sha256: hash }] }],
    ['/attempt/evaluation', { split: 'train', results: [{ input: 'q', expected: 'a', tuned: 'a', base: '' }] }],
    ['/attempt/notes', { notes: [{ code: 'max_length_cut', message: 'Cut.' }] }],
    ['/attempt/failure', { cause: 'code_error', message: 'Why.' }],
    ['/server/ready', { endpoint: 'http://127.0.0.1:41873', engine: 'transformers', version: '0.1.0' }],
    ['/server/leaving', { instance: 'pod-1' }],
  ]
  for (const [path, json] of calls) {
    const { status, json: answer, text } = await post(path, json, token, { 'Anneal-Internal-Api': '1' })
    assert.equal(status, 200, `${path}: ${text}`)
    assert.equal(typeof answer, 'object')
  }
})

test('the counts of rows and tokens are kept with the attempt', async () => {
  await post('/attempt/notes', { notes: [], truncated_rows: 3 })
  assert.deepEqual(written.slice(-2), [[{ jobId: 7, number: 2 }, { truncatedRows: 3 }], [7]])
  const counts = { rows: 9, tokens: 90, learned: 40, cut: 3, dropped: 1 }
  await post('/attempt/notes', { notes: [], row_counts: { ...counts, without_end: 2, complete: true } })
  const [, { rowCounts }] = written.at(-2) as [object, { rowCounts: object }]
  assert.deepEqual(rowCounts, { ...counts, withoutEnd: 2, isWhole: true })
})

test('an artifact is answered with a place for each file', async () => {
  const files = ['a', 'b'].map((name) => ({ name, size: 1, sha256: 'b'.repeat(64) }))
  const { json } = await post('/attempt/artifacts', { kind: 'model', step: 1, files })
  assert.match(json.artifact_id, /^[0-9a-f-]{36}$/)
  assert.deepEqual(
    json.uploads.map(({ name }: { name: string }) => name),
    ['a', 'b'],
  )
})

test('a file above the size of a part gets the URLs of its parts', async () => {
  const files = [100, 101].map((size) => ({ name: `of-${size}`, size, sha256: 'b'.repeat(64) }))
  const { json } = await post('/attempt/artifacts', { kind: 'model', step: 1, files })
  assert.deepEqual(Object.keys(json.uploads[0]), ['name', 'url'])
  assert.deepEqual([json.uploads[1].part_size, json.uploads[1].urls.length], [100, 1])
})

test('keeps an answer of a model with any characters', async () => {
  const body =
    '{"split": "train", "results": [{"input": "q", "expected": "a", "tuned": "x\\u0000\\ud800", "base": ""}]}'
  const received = await edge.call('POST', '/internal/v1/attempt/evaluation', {
    body,
    key: token,
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(received.status, 200)
  assert.match(JSON.stringify(written.at(-1)), /"tuned":"x\u{fffd}\u{fffd}"/u)
})

test('a model server that names no instance is the only replica', async () => {
  const report = { engine: 'transformers', version: '0.1.0' }
  const url = 'http://127.0.0.1:41873'
  await post('/server/ready', { ...report, endpoint: url })
  assert.deepEqual(written.at(-1), [{ ...report, url, instance: 'only' }])
  await post('/server/ready', { ...report, endpoint: url, instance: 'pod-1' })
  assert.deepEqual(written.at(-1), [{ ...report, url, instance: 'pod-1' }])
})

test('a fenced attempt or server is 410, an unknown token 401, none 401', async () => {
  const json = { steps: [step] }
  assert.deepEqual(await codeOf(post('/attempt/steps', json, 'old-token')), [410, 'attempt_fenced'])
  const ready = { endpoint: 'http://127.0.0.1:1', engine: 'x', version: '1' }
  assert.deepEqual(await codeOf(post('/server/ready', ready, 'old-token')), [410, 'server_fenced'])
  assert.deepEqual(await codeOf(post('/server/leaving', { instance: 'pod-1' }, 'old-token')), [410, 'server_fenced'])
  assert.deepEqual(await codeOf(post('/attempt/steps', json, 'unknown')), [401, 'invalid_token'])
  assert.deepEqual(await codeOf(post('/attempt/steps', json, null)), [401, 'invalid_token'])
})

test('another version of this interface or of the runtime is 426', async () => {
  assert.deepEqual(await codeOf(post('/attempt/steps', { steps: [] }, token, { 'Anneal-Internal-Api': '2' })), [
    426,
    'unsupported_runtime',
  ])
  const claim = { claim_id: randomUUID(), runtime_version: '9.0.0', hostname: 'n', device: 'cpu' }
  assert.deepEqual(await codeOf(post('/attempt/claim', claim)), [426, 'unsupported_runtime'])
})

test('answers a malformed message with 400 and an unknown artifact with 404', async () => {
  const file = { name: 'a', size: 1, sha256: 'a'.repeat(64) }
  const wrong: [string, unknown][] = [
    ['/attempt/claim', { claim_id: 'x', runtime_version: '0.1.0', hostname: 'n', device: 'cpu' }],
    ['/attempt/phase', { phase: 'COMPLETED' }],
    ['/attempt/steps', { steps: [{ ...step, loss: null }] }],
    ['/attempt/steps', { steps: [{ ...step, valid_loss: 'low' }] }],
    ['/attempt/steps', { steps: Array(1001).fill(step) }],
    ['/attempt/artifacts', { kind: 'model', step: 1, files: [] }],
    ['/attempt/artifacts', { kind: 'model', step: 1, files: [file, file] }],
    ['/attempt/artifacts', { kind: 'model', step: 1, files: [{ ...file, name: '../a' }] }],
    ['/attempt/artifacts', { kind: 'model', step: 1, files: [{ ...file, sha256: 'A' }] }],
    ['/attempt/failure', { cause: 'other', message: '' }],
    ['/server/ready', { endpoint: 'file:///x', engine: 'x', version: '1' }],
    ['/server/ready', { endpoint: 'http://x', engine: 'x', version: '1', instance: 'a b' }],
    ['/server/leaving', {}],
  ]
  for (const [path, json] of wrong) assert.deepEqual(await codeOf(post(path, json)), [400, 'invalid_input'], path)
  assert.deepEqual(await codeOf(post(`/attempt/artifacts/${randomUUID()}/commit`, undefined)), [404, 'not_found'])
  assert.deepEqual(await codeOf(post('/attempt/artifacts/x/commit', undefined)), [404, 'not_found'])
})

test('metrics are on the admin port only, and count requests by route and not by path', async () => {
  const { internal, admin } = await startPrivate()
  const headers = { authorization: 'Bearer x' }
  await internal.call('POST', '/internal/v1/attempt/artifacts/x/commit', { headers })
  await internal.call('GET', '/unknown/1')
  const { status, text } = await admin.call('GET', '/metrics', { key: null })
  assert.equal(status, 200)
  assert.match(
    text,
    /anneal_http_request_duration_seconds_count\{edge="internal",method="POST",route="\/internal\/v1\/attempt\/artifacts\/:artifact_id\/commit",status="404"\} \d/,
  )
  assert.match(text, /route="unmatched"/)
  assert.doesNotMatch(text, /unknown/)
  assert.match(text, /process_cpu_seconds_total/)
  for (const { call } of [internal, await startPublic()]) assert.equal((await call('GET', '/metrics')).status, 404)
})

test('refuses paths without a token to a foreign host name (DNS rebinding)', async () => {
  const { admin } = await startPrivate()
  for (const path of ['/metrics', '/console', '/console/assets/x.js']) {
    const { status, json, text } = await admin.call('GET', path, { key: null, headers: { host: 'evil.example:8083' } })
    assert.deepEqual([status, json?.code], [421, 'misdirected_request'], path)
    assert.doesNotMatch(text, /process_cpu/)
  }
  for (const host of ['anneal-admin.anneal.svc.cluster.local:8083', '10.244.1.7:8083', 'localhost:8083'])
    assert.equal((await admin.call('GET', '/metrics', { key: null, headers: { host } })).status, 200, host)
})

test('admin routes are on the admin port only', async () => {
  const { internal, admin } = await startPrivate()
  const key = operatorToken('s'.repeat(32))
  for (const path of ['/internal/v1/admin/accounts', '/internal/v1/admin/keys']) {
    assert.equal((await admin.call('GET', path, { key: null })).status, 401)
    assert.equal((await admin.call('GET', `${path}?limit=0`, { key })).status, 400)
    for (const { call } of [internal, await startPublic()]) assert.equal((await call('GET', path, { key })).status, 404)
  }
  assert.equal((await admin.call('POST', '/internal/v1/attempt/claim', { key })).status, 404)
})

test('health is here too', async () => {
  assert.equal((await edge.call('GET', '/healthz', { key: null })).status, 200)
  assert.equal((await edge.call('GET', '/readyz', { key: null })).status, 200)
})

async function codeOf(received: ReturnType<typeof post>) {
  const { status, json } = await received
  return [status, json.code]
}
