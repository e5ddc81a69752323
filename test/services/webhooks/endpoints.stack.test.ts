// The endpoints of an account over HTTP: what is asked, shown, refused, and told to whom.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { openAccount } from '../../support/stack.ts'
import { isSignedBy } from '../../support/webhook-receiver.ts'
import { endedJob, openWebhookAccount, type Made, type Page, type Webhook } from '../../support/webhooks.ts'
import { eventually } from '../../support/eventually.ts'

suite('the webhooks of an account', async () => {
  const { api, client, job, move, receiver, create, find, log, close } = await openWebhookAccount()
  after(close)

  test('only the types that were asked for are sent', async () => {
    const { url, received } = await receiver()
    const { id } = await create({ url, event_types: ['training_job.completed', 'training_job.failed'] })
    await move(job(), 'QUEUED', 'FAILED', 'QUEUED', 'COMPLETED')
    const types = () => received.map(({ event }) => event.type)
    await eventually(() => types().length === 2)
    assert.deepEqual(types(), ['training_job.failed', 'training_job.completed'])
    assert.equal((await log(id)).length, 2)
    await api.post(`/v1/webhooks/${id}`, { event_types: [] })
    await move(job(), 'QUEUED')
    await eventually(() => types().at(-1) === 'training_job.queued')
  })

  test('two secrets sign until one is removed or expires; never a third, and always at least one', async () => {
    const { url, received } = await receiver()
    const { id, secret, secrets } = await create({ url })
    const rotate = (body: object) => api.request<Made>('POST', `/v1/webhooks/${id}/rotate`, body)
    const remove = ([newest]: Webhook['secrets']) =>
      api.request<Webhook>('DELETE', `/v1/webhooks/${id}/secrets/${newest?.id}`)
    /** Finds the secret that signs the next event. */
    async function signing(...candidates: string[]) {
      const count = received.length
      await move(job(), 'QUEUED')
      const next = await eventually(() => received[count])
      return candidates.map((candidate) => isSignedBy(candidate, next))
    }
    assert.equal((await remove(secrets)).status, 409)
    const { body: second } = await rotate({})
    assert.deepEqual(await signing(secret, second.secret), [true, true])
    assert.equal((await rotate({})).status, 409)
    assert.equal((await remove(secrets)).status, 200)
    assert.equal((await remove(secrets)).status, 404)
    assert.deepEqual(await signing(secret, second.secret), [false, true])

    const { body: third } = await rotate({ overlap_seconds: 0 })
    assert.deepEqual(await signing(second.secret, third.secret), [false, true])
    assert.equal((await find(id)).secrets.length, 1)

    const { body: lost } = await rotate({ overlap_seconds: 3600 })
    assert.ok(lost.secrets[1]?.expires_at)
    const { body: left } = await remove(lost.secrets)
    assert.deepEqual(left.secrets, [{ ...lost.secrets[1], expires_at: null }])
    assert.deepEqual(await signing(third.secret, lost.secret), [true, false])
  })

  test('a secret is in the answer that makes it, in its repeat with the same key, and nowhere else', async () => {
    const body = { url: 'https://example.com/hooks' }
    const headers = { 'idempotency-key': randomUUID() }
    const made = async () => (await api.request<Made>('POST', '/v1/webhooks', body, headers)).body
    const { id, secret } = await made()
    assert.deepEqual([(await made()).id, (await made()).secret], [id, secret])
    assert.equal((await api.request('POST', '/v1/webhooks', { ...body, description: 'b' }, headers)).status, 422)
    for (const path of ['/v1/webhooks', `/v1/webhooks/${id}`, '/v1/audit'])
      assert.doesNotMatch(JSON.stringify(await api.get(path)), /whsec_/)
    const bytes = secret.slice('whsec_'.length)
    for (const table of ['webhook_endpoints', 'idempotency_keys', 'audit_events']) {
      const { rows } = await client.query(`select t::text as text from ${table} t`)
      assert.ok(!JSON.stringify(rows).includes(bytes), table)
    }
  })

  test('refuses a malformed or forbidden address with a sentence', async () => {
    const urls = [
      '',
      'nowhere',
      'ftp://example.com/',
      'file:///etc/passwd',
      'https://user:word@example.com/',
      'javascript:1',
    ]
    // Loopback over http is allowed in this stack; test/http/webhooks.test.ts sees the defaults.
    const private_ = [
      '10.0.0.1',
      '169.254.169.254',
      '[::1]',
      '[::ffff:10.0.0.1]',
      '0xa000001',
      '167772161',
      '10.1',
      '[fe80::1]',
    ]
    const { id } = await create({ url: 'https://example.com/' })
    for (const url of [
      ...urls,
      ...private_.map((host) => `https://${host}/`),
      `https://example.com/${'a'.repeat(2048)}`,
    ])
      for (const path of ['/v1/webhooks', `/v1/webhooks/${id}`]) {
        const { status, body } = await api.request<{ errors: { path: string }[] }>('POST', path, { url })
        assert.equal(status, 400, url)
        assert.equal(body.errors[0]?.path, 'url')
      }
    assert.equal((await find(id)).url, 'https://example.com/')
  })

  test('an account has at most twenty', async () => {
    const own = await openAccount()
    const url = 'https://example.com/'
    const answers = await Promise.all(Array.from({ length: 24 }, () => own.request('POST', '/v1/webhooks', { url })))
    assert.deepEqual(
      answers.map(({ status }) => status).toSorted((a, b) => a - b),
      [...Array<number>(20).fill(200), ...Array<number>(4).fill(409)],
    )
  })

  test('events of an account reach only its own endpoints', async () => {
    const mine = await receiver()
    const theirs = await receiver()
    const other = await openAccount()
    await create({ url: mine.url })
    await other.post('/v1/webhooks', { url: theirs.url })
    await move(job(), 'QUEUED')
    await eventually(() => mine.received.length === 1)
    assert.equal(theirs.received.length, 0)
    const otherJob = await endedJob(other)
    await eventually(() => theirs.received.some(({ event }) => event.data.status === 'CANCELLED'))
    assert.ok(theirs.received.every(({ event }) => event.data.job_id === otherJob))
    assert.equal(mine.received.length, 1)
  })

  test('a deleted endpoint gets nothing more, and leaves no log', async () => {
    const { url, received } = await receiver(() => 500)
    const { id } = await create({ url })
    const after = await receiver()
    await create({ url: after.url })
    await move(job(), 'QUEUED')
    await eventually(() => received.length === 1)
    await api.request('DELETE', `/v1/webhooks/${id}`)
    await move(job(), 'LOADING DATA')
    await eventually(() => after.received.length === 2)
    assert.equal(received.length, 1)
    const { rowCount } = await client.query('select from webhook_deliveries where endpoint_id = $1', [id])
    assert.equal(rowCount, 0)
    assert.equal((await api.request('GET', `/v1/webhooks/${id}/deliveries`)).status, 404)
  })

  test('the log is paged, newest first', async () => {
    const { url, received } = await receiver()
    const { id } = await create({ url })
    await move(job(), 'QUEUED', 'LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL')
    await eventually(() => received.length === 5)
    const ids: string[] = []
    for (let after = ''; ;) {
      const { deliveries, next } = await api.get<Page>(`/v1/webhooks/${id}/deliveries?limit=2${after}`)
      ids.push(...deliveries.map((each) => each.id))
      if (next === null) break
      after = `&after=${next}`
    }
    assert.deepEqual(ids, received.map((each) => each.id).toReversed())
  })
})
