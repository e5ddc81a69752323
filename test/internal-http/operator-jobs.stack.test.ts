// What operators see and do over all accounts, on the running stack.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import { searchAttributes } from '../../workflows/contract.ts'
import { eventually } from '../support/eventually.ts'
import { client, close, saveHistory } from '../replay/save-history.ts'
import { createAdmin, createOperator } from '../support/operator.ts'
import { sampleFile } from '../support/rows.ts'
import { connection, createApi } from '../support/stack.ts'

type Job = {
  job_id: number
  display_name: string
  account_id: string
  status: string
  status_reason: string | null
  slot_since: string | null
}
type JobRecord = Job & {
  newest_events: { status: string | null; at: string }[]
  newest_attempts: { attempt: number }[]
}
type Overview = { maintenance: { message: string } | null; holders: Job[]; next: Job[]; failures: Job[] }
type Usage = { usage: { account_id: string; display_name: string | null; training_seconds: number }[] }

suite('operators', async () => {
  const operator = createOperator()
  const account = await operator.openAccount()
  const { key } = await account.makeKey(['inference', 'training', 'data', 'read', 'admin'])
  const api = createApi(key)
  const own = createAdmin(key)
  const stranger = createAdmin((await (await operator.openAccount()).makeKey(['admin'])).key)
  const maintain = async (body: { on: boolean; message?: string }) =>
    assert.equal((await operator.request('PUT', '/maintenance', body)).status, 200)
  after(async () => {
    await maintain({ on: false })
    await close()
  })
  await api.upload('products', sampleFile)
  const train = (more = {}) =>
    api.train({ dataset_id: 'products', finetune_args: { max_steps: 4, batch_size: 4 }, ...more })

  test('stop new work: a job is accepted, waits and says why, also in Temporal; it starts afterwards', async () => {
    await maintain({ on: true, message: 'Upgrade until noon.' })
    const id = await train()
    const waiting = await api.until(id, ({ status_reason: reason }) => reason === 'maintenance')
    assert.match(waiting.status_message ?? '', /Upgrade until noon\. The job starts once new work goes on/)
    const overview = await operator.get<Overview>('/overview')
    assert.equal(overview.maintenance?.message, 'Upgrade until noon.')
    assert.ok(overview.next.some(({ job_id: each, display_name: name }) => each === id && name === 'products, run 1'))

    const handle = client.workflow.getHandle(fineTuneWorkflowId(id))
    await eventually(async () => {
      const { typedSearchAttributes } = await handle.describe()
      return typedSearchAttributes.get(searchAttributes.reason) === 'maintenance'
    })
    const shown = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')
    assert.match(shown.currentDetails ?? '', /\*\*QUEUED\*\* · attempt 1 · .*Upgrade until noon/)
    const description = await handle.describe()
    assert.match((await description.staticSummary()) ?? '', /^Job \d+: products, run 1 · products · test · /)
    assert.equal(description.memo?.['account'], 'test')

    await maintain({ on: false })
    await api.untilStatus(id, 'COMPLETED')
    if (process.env['ANNEAL_RECORD_HISTORIES']) await saveHistory('told-why-it-waits', fineTuneWorkflowId(id))
  })

  test('see the jobs of all accounts; the key of an account sees those of its own', async () => {
    const id = await train({ custom_model_name: 'pip' })
    await eventually(async () => {
      const { holders } = await operator.get<Overview>('/overview')
      return holders.some(({ job_id: each, slot_since: since }) => each === id && since !== null)
    })
    await api.untilStatus(id, 'COMPLETED')
    const { jobs } = await operator.get<{ jobs: Job[] }>(`/jobs?account_id=${account.id}&status=COMPLETED&limit=1`)
    assert.deepEqual(
      jobs.map(({ job_id, display_name, account_id, slot_since }) => ({
        job_id,
        display_name,
        account_id,
        slot_since,
      })),
      [{ job_id: id, display_name: 'pip@1', account_id: account.id, slot_since: null }],
    )
    const record = await operator.get<JobRecord>(`/jobs/${id}`)
    assert.equal(record.newest_events[0]?.status, 'COMPLETED')
    assert.deepEqual([record.newest_attempts.length, record.display_name], [1, 'pip@1'])
    const mine = await own.get<{ jobs: Job[] }>('/jobs')
    assert.ok(mine.jobs.length >= 2 && mine.jobs.every(({ account_id: each }) => each === account.id))
    assert.equal((await own.request('GET', `/jobs/${id}`)).status, 200)
    for (const path of [`/jobs/${id}`, `/jobs?account_id=${account.id}`, `/usage?account_id=${account.id}`])
      assert.equal((await stranger.request('GET', path)).status, 404, path)
    for (const path of ['/jobs?status=DONE', '/jobs?stauts=FAILED', '/usage?group_by=key', '/usage?format=xml'])
      assert.equal((await operator.request('GET', path)).status, 400, path)
    assert.equal((await own.request('PUT', '/maintenance', { on: true })).status, 401)
  })

  test('read the usage of accounts as JSON and as CSV', async () => {
    const ours = `account_id=${account.id}`
    const { usage } = await operator.get<Usage>(`/usage?${ours}&group_by=account,model`)
    assert.ok(usage.some(({ display_name: name, training_seconds: s }) => name === connection().baseModel && s > 0))
    const response = await fetch(`${connection().adminUrl}/internal/v1/admin/usage?${ours}&format=csv`, {
      headers: { authorization: `Bearer ${connection().operatorToken}` },
    })
    assert.match(response.headers.get('content-type') ?? '', /^text\/csv/)
    const [head, line] = (await response.text()).split('\r\n')
    assert.match(head ?? '', /^day,account_id,account_name,model_name,display_name,prompts,/)
    assert.ok(line?.includes(`,${account.id},test,${connection().baseModel},`), line)
  })
})
