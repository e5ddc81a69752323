import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError, type ServiceErrorCode } from '../../../src/domain/service-error.ts'
import { problemOf, describeError } from '../../../src/http/kit/problem.ts'

const plain = { headers: {} }

const expected: Record<ServiceErrorCode, number> = {
  invalid_input: 400,
  does_not_fit: 400,
  invalid_token: 401,
  not_found: 404,
  model_not_found: 404,
  request_timeout: 408,
  conflict: 409,
  artifact_incomplete: 409,
  attempt_fenced: 410,
  server_fenced: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_mismatch: 422,
  unsupported_runtime: 426,
  rate_limited: 429,
  quota_exceeded: 429,
  unavailable: 503,
}

for (const [code, status] of Object.entries(expected))
  test(`${code} is ${status}`, () => {
    const refusal = describeError(new ServiceError(code as ServiceErrorCode, 'Why.'), plain)
    assert.equal(refusal.status, status)
    assert.deepEqual([refusal.code, refusal.detail, refusal.isOurs], [code, 'Why.', false])
  })

test('a missing model is 594 to an old client, with the same words', () => {
  const error = new ServiceError('model_not_found', 'There is no model "x".')
  const old = describeError(error, { headers: { 'lamini-version': '2.5.0' } })
  assert.equal(old.status, 594)
  assert.equal(old.detail, describeError(error, plain).detail)
  assert.equal(problemOf(old, { path: '/v1/completions', requestId: 'r' }).title, 'Model Not Found')
  const job = describeError(new ServiceError('not_found', 'No job.'), { headers: { 'lamini-version': '2.5.0' } })
  assert.equal(job.status, 404)
})

test('unavailable always says when to come back', () => {
  assert.equal(
    describeError(new ServiceError('unavailable', 'Cold.', { retryAfterSeconds: 9 }), plain).headers['Retry-After'],
    '9',
  )
  for (const code of ['unavailable', 'rate_limited', 'quota_exceeded'] as const)
    assert.ok(Number(describeError(new ServiceError(code, 'Cold.'), plain).headers['Retry-After']) > 0)
})

const outages = {
  'a refused socket': Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  'sockets refused on every address': Object.assign(
    new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]),
  ),
  'Postgres shutting down': Object.assign(new Error('terminating'), { code: '57P01' }),
  'a Prisma code': Object.assign(new Error('Can not reach'), { name: 'PrismaClientKnownRequestError', code: 'P1001' }),
  'an adapter error inside': Object.assign(new Error('x'), {
    code: 'P2010',
    meta: { driverAdapterError: { cause: { kind: 'DatabaseNotReachable' } } },
  }),
  'a pool that got no connection': new Error('timeout exceeded when trying to connect'),
}
for (const [name, error] of Object.entries(outages))
  test(`${name} is 503 with Retry-After, and tells nothing`, () => {
    const refusal = describeError(error, plain)
    assert.equal(refusal.status, 503)
    assert.ok(refusal.headers['Retry-After'])
    assert.ok(refusal.isOurs)
    assert.ok(!refusal.detail.includes(error.message || 'never'))
  })

test('anything else is 500 without its words', () => {
  for (const error of [new Error('select secret from keys'), { code: 'P2002' }, 'text', null, undefined]) {
    const refusal = describeError(error, plain)
    assert.deepEqual([refusal.status, refusal.code], [500, 'internal_error'])
    assert.doesNotMatch(refusal.detail, /secret/)
  }
})
