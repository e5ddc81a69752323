// What an operator sees of a job in the Temporal UI, and how small its history stays.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { ensureHousekeeping } from '../../src/temporal/housekeeping.ts'
import { root } from '../../tools/paths.mjs'
import { reaperWorkflowId, searchAttributes } from '../../workflows/contract.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

suite('the Temporal UI', async () => {
  const api = await openAccount()
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const client = new Client({ connection: temporal })

  test('shows result, attributes and steps of a completed job', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 2 } })
    const { model_name } = await api.untilStatus(id, 'COMPLETED')
    const handle = client.workflow.getHandle(`fine-tune-${id}`)
    assert.deepEqual(await handle.result(), { jobId: id, status: 'COMPLETED', modelName: model_name, attempts: 1 })
    const description = await handle.describe()
    const summary = (await description.staticSummary()) ?? ''
    assert.ok(summary.startsWith(`Job ${id}: job ${id} · ${(await api.job(id)).dataset_id} · test · `), summary)
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

  test('lists jobs, not housekeeping, and every saved view works', async () => {
    const id = await api.train({ upload_file_path: await api.upload('broken-again', 'input\n1\n') })
    await api.until(id, ({ status }) => status === 'FAILED')
    const account = (await client.workflow.getHandle(`fine-tune-${id}`).describe()).typedSearchAttributes.get(
      searchAttributes.account,
    )
    const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
    const views = [
      ...page.matchAll(/^\| ([^|]+) \| `([^|`]*ExecutionStatus[^|`]*|WorkflowType[^|`]*|AnnealA[^|`]*)` \|$/gm),
    ]
    assert.ok(views.length >= 6)
    for (const [, title = '', text = ''] of views) {
      const query = text
        .replace('ACCOUNT', account ?? '')
        .replaceAll('2027-01-31', new Date().toISOString().slice(0, 10))
      const ids: string[] = []
      // The list lags behind the workflows.
      await eventually(async () => {
        ids.length = 0
        for await (const { workflowId } of client.workflow.list({ query, pageSize: 100 })) ids.push(workflowId)
        return !/Failed today|account|Jobs of all/.test(title) || ids.includes(`fine-tune-${id}`)
      })
      assert.ok(!ids.some((each) => each.startsWith('anneal-')), title)
    }
  })

  test('starts the housekeeping again when it is missing', async () => {
    const reaper = () => client.workflow.getHandle(reaperWorkflowId).describe()
    const { runId } = await reaper()
    await client.workflow.getHandle(reaperWorkflowId).terminate('tested')
    await ensureHousekeeping(client)
    const again = await reaper()
    assert.equal(again.status.name, 'RUNNING')
    assert.notEqual(again.runId, runId)
    await ensureHousekeeping(client)
    assert.equal((await reaper()).runId, again.runId)
  })
})
