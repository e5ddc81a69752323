// What an operator sees of a job in the Temporal UI, and how small its history stays.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { searchAttributes } from '../../workflows/contract.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

suite('the Temporal UI', async () => {
  const api = await openAccount()
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const client = new Client({ connection: temporal })

  test('shows what a completed job was and did', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 20 } })
    const { model_name } = await api.untilStatus(id, 'COMPLETED')
    const handle = client.workflow.getHandle(`fine-tune-${id}`)
    assert.deepEqual(await handle.result(), { jobId: id, status: 'COMPLETED', modelName: model_name, attempts: 1 })
    const description = await handle.describe()
    assert.equal(await description.staticSummary(), `Fine-tune job ${id} on ${connection().baseModel}`)
    const found = description.typedSearchAttributes
    assert.equal(found.get(searchAttributes.status), 'COMPLETED')
    assert.equal(found.get(searchAttributes.baseModel), connection().baseModel)
    assert.equal(found.get(searchAttributes.attempt), 1)
    assert.match(found.get(searchAttributes.account) ?? '', /^[0-9a-f-]{36}$/)
    const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')
    assert.match(metadata.currentDetails ?? '', /\*\*COMPLETED\*\*/)

    const { events } = await handle.fetchHistory()
    const scheduled = (events ?? []).filter((event) => event.activityTaskScheduledEventAttributes)
    const summaries = scheduled.map(
      (event) => JSON.parse(Buffer.from(event.userMetadata?.summary?.data ?? []).toString()) as string,
    )
    assert.equal(summaries.length, scheduled.length)
    for (const expected of [
      'check the data set',
      'open an attempt',
      'launch attempt 1',
      'watch attempt 1',
      'TRAINING MODEL',
      'release attempt 1',
      'verify and publish the model',
      'COMPLETED',
    ])
      assert.ok(summaries.includes(expected), `${expected} in ${summaries.join(', ')}`)
    assert.ok((events ?? []).length < 100, `${events?.length} events`)
    console.log(`events in the history of a job: ${events?.length}`)
  })

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
})
