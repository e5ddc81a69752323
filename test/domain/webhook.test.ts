import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { trainingJobStatuses } from '../../src/domain/training-job-status.ts'
import {
  eventTypeOf,
  liveSecrets,
  retryDelayMs,
  retryWindowMs,
  statusesOf,
  webhookEventTypes,
  webhookHeaders,
  webhookPayload,
  webhookSecret,
} from '../../src/domain/webhook.ts'

const serviceSecret = 's'.repeat(32)
const hourMs = 3_600_000

suite('webhooks', () => {
  test('the published vector of Standard Webhooks is signed as published', () => {
    const message = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      at: new Date(1_614_265_330_000),
      body: '{"test": 2432232314}',
    }
    assert.deepEqual(webhookHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], message), {
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  test('the reference library takes what two secrets have signed with either of them, and with no third', () => {
    const [old, fresh, other] = ['a', 'b', 'c'].map((id) => webhookSecret(serviceSecret, id)) as [
      string,
      string,
      string,
    ]
    const body = '{"type":"training_job.completed"}'
    const headers = webhookHeaders([fresh, old], { id: 'one', at: new Date(), body })
    for (const secret of [old, fresh])
      assert.deepEqual(new Webhook(secret).verify(body, headers), { type: 'training_job.completed' })
    assert.throws(() => new Webhook(other).verify(body, headers), /No matching signature/)
    assert.throws(() => new Webhook(old).verify(`${body} `, headers), /No matching signature/)
  })

  test('a secret has 32 bytes, belongs to its id and to the service', () => {
    const secret = webhookSecret(serviceSecret, 'a')
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(webhookSecret(serviceSecret, 'a'), secret)
    assert.notEqual(webhookSecret(serviceSecret, 'b'), secret)
    assert.notEqual(webhookSecret('t'.repeat(32), 'a'), secret)
  })

  test('an expired secret is no longer live', () => {
    const secret = (id: string, expiresAt: number | null) => ({
      id,
      createdAt: '',
      expiresAt: expiresAt === null ? null : new Date(Date.now() + expiresAt).toISOString(),
    })
    const secrets = [secret('newest', null), secret('soon', 60_000), secret('over', -1)]
    assert.deepEqual(
      liveSecrets(secrets).map(({ id }) => id),
      ['newest', 'soon'],
    )
  })

  test('each status has a type of its own, and is found by it', () => {
    assert.equal(new Set(webhookEventTypes).size, trainingJobStatuses.length)
    for (const status of trainingJobStatuses) assert.deepEqual(statusesOf([eventTypeOf(status)]), [status])
    assert.equal(eventTypeOf('PARTIALLY COMPLETED'), 'training_job.partially_completed')
  })

  test('the same event is the same bytes at each attempt', () => {
    const event = {
      jobId: 7,
      status: 'FAILED',
      statusReason: 'data_error',
      modelName: null,
      attempt: 2,
      createdAt: new Date('2026-11-20T10:00:00.123Z'),
    } as const
    assert.equal(
      JSON.stringify(webhookPayload(event)),
      '{"type":"training_job.failed","timestamp":"2026-11-20T10:00:00.123Z","data":{"job_id":7,"status":"FAILED",' +
        '"status_reason":"data_error","model_name":null,"attempt":2}}',
    )
  })

  test('tries come soon at first, and never more than some hours apart, until the time is over', () => {
    const delays: number[] = []
    for (let sum = 0; sum < retryWindowMs;) {
      const delay = retryDelayMs(delays.length + 1)
      delays.push(delay)
      sum += delay
    }
    assert.ok((delays[0] ?? 0) >= 5000 && (delays[0] ?? 0) <= 5500)
    assert.ok(delays.every((delay) => delay <= 8.8 * hourMs))
    assert.ok(delays.length >= 15 && delays.length <= 18, `${delays.length} tries`)
    assert.equal(retryWindowMs, 72 * hourMs)
  })
})
