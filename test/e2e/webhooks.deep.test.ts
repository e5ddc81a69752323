// What the receiver of a real job's webhooks sees, also when the worker is killed.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import pg from 'pg'
import { processId } from '../../src/embedded/connection.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { isSignedBy, startReceiver } from '../support/webhook-receiver.ts'
import { eventually } from '../support/eventually.ts'

type JobEvent = { kind: string; status: string; attempt: number | null; reason: string | null }

suite('the webhooks of a job', async () => {
  const api = await openAccount()
  const create = (url: string) => api.post<{ id: string; secret: string }>('/v1/webhooks', { url })

  test('tell every move once, in order, up to the name of the model', async () => {
    const receiver = await startReceiver()
    after(() => receiver.stop())
    const { id: webhookId, secret } = await create(receiver.url)
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 1 } })
    const { model_name: modelName } = await api.untilStatus(id, 'COMPLETED')
    const { received } = receiver
    await eventually(() => received.at(-1)?.event.data.status === 'COMPLETED')
    const { events } = await api.get<{ events: JobEvent[] }>(`/v1/train/jobs/${id}/events`)
    assert.deepEqual(
      received.map(({ event: { data } }) => [data.status, data.status_reason]),
      events.filter(({ kind }) => kind === 'status').map(({ status, reason }) => [status, reason]),
    )
    assert.ok(received.every((each) => isSignedBy(secret, each) && each.event.data.job_id === id))
    assert.equal(new Set(received.map((each) => each.id)).size, received.length)
    const [first, last] = [received[0], received.at(-1)]
    assert.deepEqual([first?.event.type, first?.event.data.attempt], ['training_job.created', null])
    assert.deepEqual([last?.event.type, last?.event.data.attempt], ['training_job.completed', 1])
    assert.equal(last?.event.data.model_name, modelName)
    assert.ok(received.slice(0, -1).every(({ event }) => event.data.model_name === null))
    await api.request('DELETE', `/v1/webhooks/${webhookId}`)
  })

  test('arrive again under the same id when the worker was killed before it could note that they had', async () => {
    const client = new pg.Client({ connectionString: connection().databaseUrl })
    await client.connect()
    after(() => client.end())
    const worker = processId(connection(), 'worker')
    const receiver = await startReceiver(async () => {
      if (connection().processes.worker === worker) process.kill(worker, 'SIGKILL')
      return 200
    })
    after(() => receiver.stop())
    const { id: webhookId } = await create(receiver.url)
    const id = await api.train({ data: sampleRows })
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await eventually(() => receiver.received.length > 0)
    await eventually(() => ![worker, undefined].includes(connection().processes.worker))
    // Its hold on the endpoint would last half a minute.
    await client.query('update webhook_endpoints set claimed_until = now() where id = $1', [webhookId])
    await eventually(() => receiver.received.at(-1)?.event.data.status === 'CANCELLED')
    const ids = receiver.received.map((each) => each.id)
    assert.equal(ids[0], ids[1])
    assert.deepEqual(
      receiver.received.slice(1).map(({ event }) => event.data.status),
      (await api.get<{ events: JobEvent[] }>(`/v1/train/jobs/${id}/events`)).events
        .filter(({ kind }) => kind === 'status')
        .map(({ status }) => status),
    )
    await api.request('DELETE', `/v1/webhooks/${webhookId}`)
  })
})
