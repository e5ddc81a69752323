// The answers of every route to malformed requests.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { makeApiKey } from '../../src/domain/identifiers.ts'
import { apiKey, startPublic, trainingJob, type Received } from './support.ts'

const job = trainingJob()
const edge = await startPublic({
  database: {
    models: { find: () => Promise.resolve(null) },
    trainingJobs: {
      find: (_account: string, id: number) => Promise.resolve(id === job.id ? job : null),
      lock: () => Promise.resolve({ ...job, status: 'CANCELLED' }),
    },
    trainingSteps: { since: () => Promise.resolve({ attempt: 0, keptStep: 0, steps: [] }) },
  },
})

function assertProblem(
  { status, headers, json }: Received,
  expected: { status: number; code: string; detail?: RegExp },
) {
  assert.equal(status, expected.status)
  assert.equal(headers['content-type'], 'application/problem+json')
  const { type, title, detail, instance, code, request_id: requestId } = json
  for (const text of [type, title, detail, instance, code, requestId]) assert.equal(typeof text, 'string')
  assert.deepEqual([json.status, code], [status, expected.code])
  assert.equal(headers['x-request-id'], requestId)
  assert.match(detail, expected.detail ?? /./)
}

test('a missing, malformed or unknown key is 401 with "invalid token"', async () => {
  const [, keyId = ''] = apiKey.split('_')
  const wrong = [null, '', 'x', makeApiKey(), `ank_${keyId}_${'A'.repeat(43)}`, `${apiKey} x`]
  for (const key of wrong)
    for (const [method, path] of [
      ['GET', '/v1/train/jobs/7'],
      ['POST', '/v1/train'],
      ['GET', '/v1/train/jobs/x'],
    ] as const) {
      const received = await edge.call(method, path, { key })
      assertProblem(received, { status: 401, code: 'invalid_token', detail: /invalid token/ })
    }
})

test('unknown and malformed ids give the same 404', async () => {
  const bodies = new Set<string>()
  for (const id of ['8', '0', '007', 'x', '-1', '1.5', '7e0', '2147483648', '99999999999999999999', '%00', '%20']) {
    const received = await edge.call('GET', `/v1/train/jobs/${id}`)
    assertProblem(received, { status: 404, code: 'not_found', detail: /^There is no training job / })
    bodies.add(JSON.stringify(Object.keys(received.json)))
  }
  assert.equal(bodies.size, 1)
})

test('a malformed batch id is answered as an unknown id', async () => {
  const batches = await startPublic({ database: { inferenceBatches: { find: () => Promise.resolve(null) } } })
  for (const id of ['0f0e0d0c-0b0a-0908-0706-050403020100', 'x', '0', '%00', '..', 'a'.repeat(5000)]) {
    const received = await batches.call('GET', `/v1/batch_completions/${id}/result`)
    assertProblem(received, { status: 404, code: 'not_found', detail: /^There is no batch / })
    assert.ok(received.json.detail.length < 200)
  }
})

test('unknown paths and broken escapes are 404', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/nothing',
    '/V1/train/jobs',
    '/v1/train/jobs/%zz',
    '/metrics',
    '/internal/v1/attempt/claim',
  ])
    assertProblem(await edge.call('GET', path), { status: 404, code: 'not_found' })
})

test('HEAD answers as GET does, without the body', async () => {
  const got = await edge.call('GET', '/v1/train/jobs/7')
  const head = await edge.call('HEAD', '/v1/train/jobs/7')
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', got.headers['content-length']])
  assert.equal((await edge.call('HEAD', '/v1/train/jobs/8')).status, 404)
})

test('a body that is not JSON by its type is 415', async () => {
  const types = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
    'application/json; charset=latin1',
  ]
  for (const type of types)
    for (const path of ['/v1/data', '/v1/train/jobs/7/cancel'])
      for (const framing of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
        const headers = { 'content-type': type, ...framing }
        assertProblem(await edge.call('POST', path, { body: '{"dataset_id": "a"}', headers }), {
          status: 415,
          code: 'unsupported_media_type',
        })
      }
  assertProblem(await edge.call('POST', '/v1/data', { body: '{}' }), { status: 415, code: 'unsupported_media_type' })
  const gzip = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  assertProblem(await edge.call('POST', '/v1/data', { body: '{}', headers: gzip }), {
    status: 415,
    code: 'unsupported_media_type',
  })
})

test('an empty body with any headers is accepted when no body is needed', async () => {
  for (const headers of [
    {},
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/json', 'content-length': '0' },
    { 'content-type': 'text/plain; charset=latin1', 'transfer-encoding': 'chunked' },
  ] as Record<string, string>[])
    assert.equal((await edge.call('POST', '/v1/train/jobs/7/cancel', { headers })).status, 200)
  const received = await edge.call('POST', '/v1/data', { headers: { 'content-type': 'text/plain' } })
  assertProblem(received, { status: 400, code: 'invalid_input', detail: /JSON body/ })
})

test('JSON types with a suffix or a charset are read', async () => {
  for (const type of [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/vnd.x+json',
  ])
    assert.equal(
      (await edge.call('POST', '/v1/train/jobs/7/cancel', { body: '\u{feff}{}', headers: { 'content-type': type } }))
        .status,
      200,
    )
})

test('answers a body that is no JSON object with 400 and a sentence', async () => {
  const bodies = [
    '{',
    '{"a":}',
    'nul',
    ' ',
    '{"a":"\u0000"}',
    '[]',
    '"x"',
    '1',
    'null',
    Buffer.from('{"a":"\xff"}', 'latin1'),
    `${'['.repeat(100_000)}`,
  ]
  for (const body of bodies)
    for (const path of ['/v1/data', '/v1/train/jobs/7/cancel']) {
      const received = await edge.call('POST', path, { body, headers: { 'content-type': 'application/json' } })
      assertProblem(received, { status: 400, code: 'invalid_input', detail: /^The body .*\.$/ })
    }
})

test('a body over the limit is 413, and the client that sends it to its end reads that', async () => {
  const body = Buffer.alloc(3 * 1024 * 1024, ' ')
  for (const framing of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
    const headers = { 'content-type': 'application/json', ...framing }
    const received = await edge.call('POST', '/v1/data', { body, headers })
    assertProblem(received, { status: 413, code: 'payload_too_large', detail: /1 MB/ })
  }
  assertProblem(await edge.call('POST', '/v1/data', { body, key: null }), { status: 401, code: 'invalid_token' })
})

test('more than can be drained is cut, and the answer is not lost with it', async () => {
  const socket = connect(edge.port, '127.0.0.1')
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.write(
    `POST /v1/data HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n`,
  )
  // Does not read while it sends: what it sends after the answer must not cost it the answer.
  const piece = Buffer.alloc(1024 * 1024, ' ')
  for (let sent = 0; sent < 80; sent += 1) await new Promise((resolve) => socket.write(piece, resolve))
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk))
  await closed
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /connection: close/i)
  assert.match(answer, /"code":"payload_too_large".*\}$/)
})

test('a connection serves the next request after an error', async () => {
  const socket = connect(edge.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk))
  const head = `POST /v1/data HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n`
  socket.write(head + ' '.repeat(2_000_000))
  socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await once(socket, 'end')
  assert.match(answer, /^HTTP\/1\.1 401 /)
  assert.match(answer, /HTTP\/1\.1 200 OK/)
})

test('every problem of a body is named, null is the same as nothing', async () => {
  const received = await edge.call('POST', '/v1/train', {
    json: {
      model_name: null,
      dataset_id: 5,
      is_public: 'yes',
      gpu_config: { gpus: 1.5, nodes: null },
      finetune_args: { max_steps: 0, learning_rate: 'fast', seed: null, unknown: {} },
      data: 'rows',
      peft_args: [],
      status: 'COMPLETED',
    },
  })
  assertProblem(received, {
    status: 400,
    code: 'invalid_input',
    detail: /^model_name is required\. \(7 more problems in "errors"\)$/,
  })
  assert.deepEqual(received.json.errors.map(({ path }: { path: string }) => path).toSorted(), [
    'data',
    'dataset_id',
    'finetune_args.learning_rate',
    'finetune_args.max_steps',
    'gpu_config.gpus',
    'is_public',
    'model_name',
    'peft_args',
  ])
  for (const { message } of received.json.errors) assert.match(message, /^\S+ (must|is) .*\.$/)
})

test('NUL and broken Unicode are refused wherever they would be stored', async () => {
  const bodies = [
    '{"model_name": "tiny", "custom_model_name": "a\\u0000b"}',
    '{"model_name": "tiny", "custom_model_name": "\\ud800"}',
    '{"model_name": "tiny", "data": [{"input": "a", "output": {"deep": ["\\u0000"]}}]}',
    '{"model_name": "tiny", "data": [{"a\\u0000": "a"}]}',
    '{"model_name": "tiny", "finetune_args": {"optim": "\\u0000"}}',
  ]
  for (const body of bodies) {
    const received = await edge.call('POST', '/v1/train', { body, headers: { 'content-type': 'application/json' } })
    assertProblem(received, { status: 400, code: 'invalid_input', detail: /NUL|Unicode/ })
  }
})

test('accepts any value in an ignored field', async () => {
  const body =
    '{"model_name": "none", "finetune_args": {"other": "\\u0000"}, "peft_args": {"a": "\\ud800"}, "more": "\\u0000"}'
  const received = await edge.call('POST', '/v1/train', { body, headers: { 'content-type': 'application/json' } })
  assertProblem(received, { status: 404, code: 'model_not_found' })
})

test('reports a single, helpful problem for each field', async () => {
  const details: [object, string][] = [
    [{ max_steps: -1e308 }, 'finetune_args.max_steps must be at least 1.'],
    [{ max_steps: 1e308 }, 'finetune_args.max_steps must be at most 10000000.'],
    [{ optim: [] }, 'finetune_args.optim must be a string.'],
    [{ target_modules: 5 }, 'finetune_args.target_modules must be a string or a list of strings.'],
    [{ target_modules: [null] }, 'finetune_args.target_modules[0] must be a string.'],
  ]
  for (const [args, detail] of details) {
    const { json } = await edge.call('POST', '/v1/train', { json: { model_name: 'tiny', finetune_args: args } })
    assert.equal(json.detail, detail)
  }
  for (const [metadata, detail] of [
    [{ '': 'x' }, 'metadata has the key "", which must not be empty.'],
    [{ ['k'.repeat(65)]: 'x' }, `metadata has the key "${'k'.repeat(65)}", which must have at most 64 characters.`],
    [{ a: null }, 'metadata.a must be a string.'],
    [{ a: 'x'.repeat(513) }, 'metadata.a must have at most 512 characters.'],
  ] as const) {
    const { json } = await edge.call('POST', '/v1/train', { json: { model_name: 'tiny', metadata } })
    assert.equal(json.detail, detail)
  }
  const integrations = Array(5).fill({ type: 'mlflow', tracking_uri: 'https://mlflow.example.com' })
  const { json } = await edge.call('POST', '/v1/train', { json: { model_name: 'tiny', integrations } })
  assert.equal(json.detail, 'integrations must have at most 4 items.')
})

test('a sentence shows only the beginning of the sent value', async () => {
  for (const path of [`/v1/train/jobs/${'a'.repeat(5000)}`, `/${'a'.repeat(5000)}`]) {
    const { status, json } = await edge.call('GET', path)
    assert.equal(status, 404)
    assert.ok(json.detail.length < 200)
  }
})

test('rows nested without end are refused before anything recurses into them', async () => {
  const body = `{"model_name": "tiny", "data": [{"input": ${'['.repeat(200_000)}${']'.repeat(200_000)}}]}`
  const received = await edge.call('POST', '/v1/train', { body, headers: { 'content-type': 'application/json' } })
  assertProblem(received, {
    status: 400,
    code: 'invalid_input',
    detail: /^data\[0\] must be an object, nested at most/,
  })
})

test('query parameters are digits in their bounds, given once', async () => {
  const wrong = [
    'limit=0',
    'limit=1001',
    'limit=x',
    'limit=',
    'limit=1.0',
    'limit=+1',
    'limit=1e2',
    'limit=1&limit=2',
    'status=',
    'status=DONE',
    'status=FAILED&status=FAILED',
    'status=%00',
    'after=x',
    'after=',
    'after=a&after=b',
    'limit=99999999999999999999',
  ]
  for (const query of wrong) {
    const received = await edge.call('GET', `/v1/train/jobs?${query}`)
    assertProblem(received, { status: 400, code: 'invalid_input' })
    assert.equal(received.json.errors[0].path, query.split('=')[0])
  }
  const ofRecords = ['events?after=x', 'events?limit=0', 'attempts?after=0', 'attempts?before=0', 'attempts?limit=1001']
  for (const query of [...ofRecords, 'logs?offset=-1', 'logs?limit=9999999'])
    assertProblem(await edge.call('GET', `/v1/train/jobs/7/${query}`), { status: 400, code: 'invalid_input' })
})

test('an Idempotency-Key is 1 to 255 visible characters', async () => {
  for (const key of ['', 'a b', 'x'.repeat(256), 'é', ['a', 'b']]) {
    const received = await edge.call('POST', '/v1/train', {
      json: { model_name: 'tiny' },
      headers: { 'idempotency-key': key },
    })
    assertProblem(received, { status: 400, code: 'invalid_input', detail: /Idempotency-Key/ })
  }
})

test('keeps a valid request id of the client', async () => {
  assert.equal(
    (await edge.call('GET', '/healthz', { headers: { 'x-request-id': 'abc-1' } })).headers['x-request-id'],
    'abc-1',
  )
  assert.match(
    String((await edge.call('GET', '/healthz', { headers: { 'x-request-id': 'a b' } })).headers['x-request-id']),
    /^[0-9a-f-]{36}$/,
  )
})

test('a conditional request is answered in full', async () => {
  const received = await edge.call('GET', '/v1/train/jobs/7', {
    headers: { 'if-none-match': '*', 'if-modified-since': new Date().toUTCString() },
  })
  assert.equal(received.status, 200)
  assert.equal(received.json.job_id, 7)
})

test('answers carry the security headers and not our name', async () => {
  const { headers } = await edge.call('GET', '/healthz')
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-powered-by'], undefined)
})

test('an error of ours shows nothing of itself', async () => {
  const broken = await startPublic({
    database: { trainingJobs: { find: () => Promise.reject(new Error('relation "jobs" at /srv/x.ts')) } },
  })
  const received = await broken.call('GET', '/v1/train/jobs/7')
  assertProblem(received, { status: 500, code: 'internal_error' })
  assert.doesNotMatch(received.text, /relation|srv/)
})

test('a database that is away is 503 with Retry-After', async () => {
  const away = () => Promise.reject(Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }))
  const broken = await startPublic({ database: { trainingJobs: { find: away }, accounts: { findLiveApiKey: away } } })
  const received = await broken.call('GET', '/v1/train/jobs/7')
  assertProblem(received, { status: 503, code: 'unavailable' })
  assert.ok(Number(received.headers['retry-after']) > 0)
})

/** Everything that comes back for these bytes, until the connection is closed. */
async function answerTo(text: string): Promise<string> {
  const socket = connect(edge.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk))
  socket.on('error', () => undefined).write(text)
  await new Promise((resolve) => socket.on('close', resolve))
  return answer
}

test('answers bytes that are no HTTP request with a problem', async () => {
  const requests: [status: number, code: string, text: string][] = [
    [
      400,
      'unreadable_request',
      'POST /v1/data HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
    [400, 'unreadable_request', '\x16\x03\x01\x02\r\n\r\n'],
    [400, 'unreadable_request', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    [431, 'unreadable_request', `GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`],
    [431, 'unreadable_request', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [405, 'method_not_allowed', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n'],
  ]
  for (const [status, code, text] of requests) {
    const answer = await answerTo(text)
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `))
    const problem = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))
    assert.deepEqual([problem.status, problem.code], [status, code])
    if (status === 405) assert.match(answer, /\r\nAllow: GET, HEAD, POST, DELETE\r\n/)
  }
})

test('an upgrade, an odd expectation, HTTP/1.0 and a missing host are no reason to refuse', async () => {
  const close = 'Connection: close\r\n\r\n'
  for (const text of [
    'GET /healthz HTTP/1.0\r\n\r\n',
    `GET /healthz HTTP/1.1\r\n${close}`,
    `GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: something\r\n${close}`,
    'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n',
    `GET http://x/healthz HTTP/1.1\r\nHost: x\r\n${close}`,
  ])
    assert.match(await answerTo(text), /^HTTP\/1\.1 200 OK\r\n.*\{"status":"ok"\}$/s, text)
})

test('answers Expect: 100-continue before the body', async () => {
  const socket = connect(edge.port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk))
  const headers = `Host: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n`
  socket.write(`POST /v1/train/jobs/7/cancel HTTP/1.1\r\n${headers}Expect: 100-continue\r\nConnection: close\r\n\r\n`)
  await once(socket, 'data')
  assert.equal(answer, 'HTTP/1.1 100 Continue\r\n\r\n')
  socket.write('{}')
  await once(socket, 'end')
  assert.match(answer, /HTTP\/1\.1 200 OK/)
})
