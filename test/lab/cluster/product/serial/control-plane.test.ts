// Losses between Temporal, the worker and the API server: a terminated workflow, and an answer that never arrives.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { fineTuneWorkflowId } from '../../../../../src/domain/identifiers.ts'
import { connection } from '../../../../support/stack.ts'
import { control, until } from '../../support/cluster.ts'
import { leftOf, openJobs } from '../../support/jobs.ts'

const jobs = await openJobs()
const { account } = jobs
after(() => jobs.end())

describe('a job', { concurrency: true }, () => {
  test('is freed by the reaper after its workflow is terminated, and its resume completes', async (t) => {
    const temporal = await Connection.connect({ address: connection().temporalAddress })
    t.after(() => temporal.close())
    const id = await jobs.train({ max_steps: 100, save_steps: 10 })
    await jobs.reaches(id, 10)
    await new Client({ connection: temporal }).workflow.getHandle(fineTuneWorkflowId(id)).terminate('by hand')
    const atMs = performance.now()
    await until('nothing of it is left', async () => (await leftOf(id)).length === 0)
    t.diagnostic(`freed ${((performance.now() - atMs) / 1000).toFixed(1)} s after it was terminated`)
    const job = await account.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'workflow_terminated')
    await account.post(`/v1/train/jobs/${id}/resume`)
    const done = await jobs.completes(id)
    assert.equal(done.resume_count, 1)
  })

  test('has a single Job though the answer to its creation was lost', async (t) => {
    t.after(() => control.setFaults({}))
    await control.setFaults({ methods: ['POST'], path: '/jobs$', late: true, dropped: true })
    const id = await jobs.train({ max_steps: 20 })
    await until('its Job', async () => (await leftOf(id)).length > 0)
    await control.forgetCalls()
    const creates = await until('more tries', async () => (await control.calls())['create jobs'])
    await control.setFaults({})
    await jobs.completesAfter(id, [])
    t.diagnostic(`${creates + 1} creates at least, one Job`)
  })
})
