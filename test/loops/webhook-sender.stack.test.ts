// Webhooks sent by the real worker to servers on this machine. test/e2e/webhooks.deep.test.ts has those of a running job.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { retryWindowMs } from '../../src/domain/webhook.ts'
import { root } from '../../tools/paths.mjs'
import { isSignedBy, startReceiver } from '../support/webhook-receiver.ts'
import { openWebhookAccount, type Delivery, type Webhook } from '../support/webhooks.ts'
import { eventually } from '../support/eventually.ts'

suite('webhooks', async () => {
  const { api, client, job, move, receiver, create, find, log, close } = await openWebhookAccount({ jobCount: 3 })
  after(close)

  /** Makes waiting deliveries due now, without their delay. */
  const hurry = (webhookId: string) =>
    client.query('update webhook_deliveries set due_at = now() where endpoint_id = $1 and due_at is not null', [
      webhookId,
    ])
  /** As after 72 hours of tries. */
  const outOfTime = (webhookId: string) =>
    client.query(
      `update webhook_deliveries set due_at = now(), retry_until = now() where endpoint_id = $1 and due_at is not null`,
      [webhookId],
    )

  test('an event is signed, names the change, and its delivery is on record', async () => {
    const { url, received } = await receiver()
    const { id, secret } = await create({ url, description: 'mine' })
    await move(job(), 'TRAINING MODEL')
    const [first] = await eventually(() => received.length > 0 && received)
    assert.ok(first && isSignedBy(secret, first))
    assert.equal(first.headers['content-type'], 'application/json')
    assert.equal(first.event.type, 'training_job.training_model')
    const { status, job_id: jobId, status_reason: reason, model_name: model } = first.event.data
    assert.deepEqual([status, jobId, reason, model], ['TRAINING MODEL', job(), null, null])
    const [delivery] = await eventually(async () => {
      const all = await log(id)
      return all[0]?.state === 'delivered' && all
    })
    assert.deepEqual(delivery?.event, first.event)
    assert.equal(delivery.id, first.id)
    assert.deepEqual(
      delivery.attempts.map(({ status_code: code, error }) => [code, error]),
      [[200, null]],
    )
    await eventually(async () => (await find(id)).last_success_at)
    const { rows } = await client.query<{ ms: number }>(
      'select (extract(epoch from retry_until - created_at) * 1000)::float8 as ms from webhook_deliveries where id = $1',
      [first.id],
    )
    assert.equal(rows[0]?.ms, retryWindowMs, "the column's default is that of the code")
  })

  test('a receiver that was down gets all of it once it is back, in order, under the ids of the first tries', async () => {
    const back = await receiver()
    await back.stop()
    const { id } = await create({ url: back.url })
    await move(job(), 'QUEUED', 'LOADING DATA')
    await eventually(async () => (await log(id)).at(-1)?.attempts.length)
    const [second, first] = await log(id)
    assert.equal(first?.attempts[0]?.error, 'The connection failed: ECONNREFUSED.')
    assert.equal(first.attempts[0].status_code, null)
    assert.deepEqual(second?.attempts, [], 'what comes after waits for it')
    assert.ok(first.next_attempt_at)
    await back.start()
    await move(job(), 'TRAINING MODEL')
    await eventually(() => back.taken().length === 3)
    assert.deepEqual(
      back.taken().map(({ event }) => event.data.status),
      ['QUEUED', 'LOADING DATA', 'TRAINING MODEL'],
    )
    assert.deepEqual(
      back.taken().map((each) => each.id),
      (await log(id)).map((each) => each.id).toReversed(),
    )
  })

  test('the events of a job arrive in their order though the first is refused; other jobs do not wait for it', async () => {
    let refusals = 2
    const { url, received, taken } = await receiver(({ data }) =>
      data.job_id === job() && data.status === 'QUEUED' && refusals-- > 0 ? 500 : 200,
    )
    const { id } = await create({ url })
    await move(job(), 'QUEUED', 'LOADING DATA', 'TRAINING MODEL')
    await move(job(1), 'QUEUED', 'LOADING DATA')
    await eventually(() => taken().length === 2 && received.length === 3)
    assert.deepEqual(
      taken().map(({ event: { data } }) => [data.job_id, data.status]),
      [
        [job(1), 'QUEUED'],
        [job(1), 'LOADING DATA'],
      ],
    )
    await eventually(async () => {
      await hurry(id)
      return taken().length === 5
    })
    const ofFirst = received.filter(({ event }) => event.data.job_id === job())
    assert.deepEqual(
      ofFirst.map(({ event, status }) => [event.data.status, status]),
      [
        ['QUEUED', 500],
        ['QUEUED', 500],
        ['QUEUED', 200],
        ['LOADING DATA', 200],
        ['TRAINING MODEL', 200],
      ],
    )
    assert.equal(new Set(ofFirst.slice(0, 3).map((each) => each.id)).size, 1)
    const delivery = (await log(id)).find((each) => each.id === ofFirst[0]?.id)
    assert.deepEqual(
      delivery?.attempts.map(({ status_code: code, error }) => [code, error]),
      [
        [500, 'The endpoint answered 500.'],
        [500, 'The endpoint answered 500.'],
        [200, null],
      ],
    )
  })

  test('a hanging endpoint holds up no other', async () => {
    const { promise, resolve } = Promise.withResolvers<number>()
    const hanging = await receiver(() => promise)
    const quick = await receiver()
    await create({ url: hanging.url })
    const { id } = await create({ url: quick.url })
    await move(job(), 'QUEUED', 'LOADING DATA', 'TRAINING MODEL')
    await eventually(() => quick.received.length === 3)
    await eventually(async () => (await find(id)).last_success_at)
    resolve(200)
  })

  test('an endpoint that took nothing for 72 hours is disabled; enabled again, it gets the waiting events', async () => {
    let status = 500
    const { url, taken } = await receiver(() => status)
    const { id } = await create({ url })
    await move(job(), 'QUEUED', 'LOADING DATA')
    await eventually(async () => (await log(id)).at(-1)?.attempts.length === 1)
    await move(job(1), 'CANCELLED')
    await outOfTime(id)
    const disabled = await eventually(async () => {
      const webhook = await find(id)
      return webhook.disabled_at !== null && webhook
    })
    assert.equal(disabled.disabled_reason, 'failing')
    const ended = (await log(id)).find(({ state }) => state === 'failed') ?? assert.fail('no delivery has failed')
    assert.equal(
      (await log(id)).find(({ next_attempt_at: next }) => next !== null),
      undefined,
    )
    await move(job(2), 'FAILED')
    assert.ok(
      (await log(id)).every(({ event }) => event.data.job_id !== job(2)),
      'nothing new is kept for it',
    )
    const replay = (deliveryId: string) => api.request('POST', `/v1/webhooks/${id}/deliveries/${deliveryId}/replay`)
    assert.equal((await replay(ended.id)).status, 409)

    status = 200
    const enabled = await api.post<Webhook>(`/v1/webhooks/${id}`, { disabled: false })
    assert.deepEqual([enabled.disabled_at, enabled.disabled_reason], [null, null])
    const waited = (await log(id)).filter(({ state }) => state !== 'failed')
    await eventually(() => taken().length >= waited.length)
    assert.deepEqual(
      taken()
        .map((each) => each.id)
        .toSorted(),
      waited.map((each) => each.id).toSorted(),
    )
  })

  test('an event that is never accepted expires alone; later events are sent, and the endpoint stays', async () => {
    const { url, taken } = await receiver(({ data }) => (data.status === 'QUEUED' ? 400 : 200))
    const { id } = await create({ url })
    await move(job(1), 'LOADING DATA')
    await eventually(() => taken().length === 1)
    await move(job(), 'QUEUED', 'LOADING DATA')
    await eventually(async () => (await log(id)).some(({ attempts }) => attempts[0]?.status_code === 400))
    await outOfTime(id)
    await eventually(() => taken().length === 2)
    const states = (await log(id)).filter(({ event }) => event.data.job_id === job()).map(({ state }) => state)
    assert.equal(states[1], 'failed')
    assert.equal((await find(id)).disabled_at, null)
  })

  test('an endpoint that says it is gone is disabled at once', async () => {
    const { url, received } = await receiver(() => 410)
    const { id } = await create({ url })
    await move(job(), 'QUEUED')
    const { disabled_reason: reason } = await eventually(async () => {
      const webhook = await find(id)
      return webhook.disabled_at !== null && webhook
    })
    assert.equal(reason, 'gone')
    assert.equal(received.length, 1)
  })

  test('a delivered event is sent again under its id when that is asked for, also while others wait', async () => {
    let isBusy = false
    const { url, received } = await receiver(({ data }) => (isBusy && data.status !== 'QUEUED' ? 503 : 200))
    const { id } = await create({ url })
    await move(job(), 'QUEUED')
    await eventually(async () => (await log(id))[0]?.state === 'delivered')
    isBusy = true
    await move(job(), 'LOADING DATA')
    await eventually(async () => (await log(id))[0]?.attempts.length)
    const [first] = received
    assert.ok(first)
    const path = `/v1/webhooks/${id}/deliveries/${first.id}/replay`
    assert.equal((await api.post<Delivery>(path)).state, 'pending')
    await eventually(() => received.filter((each) => each.id === first.id).length === 2)
    const again = received.findLast((each) => each.id === first.id)
    assert.equal(again?.body, first.body)
    await eventually(async () => (await log(id)).at(-1)?.attempts.length === 2)
    assert.equal((await log(id)).at(-1)?.state, 'delivered')
  })

  test('the receiver of the guide takes each signed event once, and no unsigned event', async () => {
    const free = await startReceiver()
    await free.stop()
    const { id, secret } = await create({ url: free.url })
    const [, code = ''] = /^```js\n(.*?)^```$/ms.exec(readFileSync(join(root, 'docs/webhooks.md'), 'utf8')) ?? []
    const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      cwd: root,
      env: { ...process.env, WEBHOOK_SECRET: secret, PORT: new URL(free.url).port },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    after(() => child.kill())
    let output = ''
    child.stdout.on('data', (chunk) => (output += String(chunk)))
    const post = (headers: Record<string, string>) =>
      fetch(free.url, { method: 'POST', body: '{}', headers }).then(
        ({ status }) => status,
        () => null,
      )
    await eventually(() => post({}))
    await move(job(), 'COMPLETED')
    const line = `training_job.completed ${job()} COMPLETED\n`
    await eventually(async () => (await log(id))[0]?.state === 'delivered')
    const [delivery] = await log(id)
    await api.post(`/v1/webhooks/${id}/deliveries/${delivery?.id}/replay`)
    await eventually(async () => (await log(id))[0]?.attempts.length === 2)
    assert.equal(output, line)
    const forged = { 'webhook-id': 'x', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) }
    assert.equal(await post({ ...forged, 'webhook-signature': 'v1,AAAA' }), 400)
  })
})
