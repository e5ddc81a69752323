// An operator looks at a running job in the Temporal UI and cancels it there; ended jobs close as what they are.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { cancelUpdate, nextActionQuery, progressQuery, statusQuery } from '../../workflows/contract.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

suite('the Temporal UI', async () => {
  const api = await openAccount()
  const client = new Client({ connection: await Connection.connect({ address: connection().temporalAddress }) })

  test('closes a cancelled job as Canceled and a failed one as Failed, and cancels from there alike', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 1000 } })
    await api.untilStatus(id, 'TRAINING MODEL')
    await client.workflow.getHandle(`fine-tune-${id}`).cancel()
    await api.untilStatus(id, 'CANCELLED')
    await assert.rejects(client.workflow.getHandle(`fine-tune-${id}`).result())
    assert.equal((await client.workflow.getHandle(`fine-tune-${id}`).describe()).status.name, 'CANCELLED')

    const failed = await api.train({ upload_file_path: await api.upload('broken', 'input\n1\n') })
    await api.until(failed, ({ status }) => status === 'FAILED')
    await assert.rejects(client.workflow.getHandle(`fine-tune-${failed}`).result())
    assert.equal((await client.workflow.getHandle(`fine-tune-${failed}`).describe()).status.name, 'FAILED')
  })

  test('describes a running attempt, answers queries, and accepts a cancel as the API does', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 1000 } })
    await api.untilStatus(id, 'TRAINING MODEL')
    const handle = client.workflow.getHandle(`fine-tune-${id}`)
    const beat = await eventually(async () => {
      const { raw } = await handle.describe()
      const watching = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'watchAttempt')
      const [details] = watching?.heartbeatDetails?.payloads ?? []
      const shown = details && (JSON.parse(Buffer.from(details.data ?? []).toString()) as Record<string, unknown>)
      return shown?.['step'] ? shown : null
    })
    assert.equal(beat['phase'], 'TRAINING MODEL')
    assert.equal(beat['of'], 1000)
    for (const name of ['loss', 'lastReportSeconds']) assert.equal(typeof beat[name], 'number', name)
    const { status, attempt, generation } = await handle.query(statusQuery)
    assert.deepEqual({ status, attempt, generation }, { status: 'TRAINING MODEL', attempt: 1, generation: 1 })
    const { since } = await handle.query(progressQuery)
    assert.deepEqual(since[0]?.status, 'CREATED')
    assert.equal(await handle.query(nextActionQuery), 'Wait until attempt 1 ends.')

    const answers = await Promise.all([handle.executeUpdate(cancelUpdate), handle.executeUpdate(cancelUpdate)])
    for (const { accepted, message } of answers) assert.deepEqual([accepted, message?.slice(0, 9)], [true, 'Cancelled'])
    await api.untilStatus(id, 'CANCELLED')
    await eventually(async () => (await handle.describe()).status.name === 'CANCELLED')
    const { events } = await api.get<{ events: { reason: string | null; actor: string }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    const cancels = events.filter(({ reason, actor }) => reason === 'cancel' && actor === 'temporal')
    assert.equal(cancels.length, 1)
  })
})
