// What is taken out of the workflows' hands ends clean all the same: within a minute nothing of it runs or holds a slot.
import { Client, Connection } from '@temporalio/client'
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { createReaperActivities, type ReaperDependencies } from '../../activities/reaper.ts'
import { fineTuneWorkflowId, modelServerName } from '../../src/domain/identifiers.ts'
import { inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { livingInGroup, livingServers, livingTrainers, pidOf } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { launchSleeper } from './support/sleeper.ts'
import { eventually } from '../support/eventually.ts'

suite('the reaper', async () => {
  const api = await openAccount()
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const client = new Client({ connection: temporal })
  const database = connectDatabase(connection().databaseUrl, { poolSize: 2 })
  after(async () => {
    await temporal.close()
    await database.close()
  })

  const handleOf = (id: number) => client.workflow.getHandle(fineTuneWorkflowId(id))
  const executionOf = async (id: number) => ({
    namespace: 'default',
    workflowExecution: { workflowId: fineTuneWorkflowId(id), runId: (await handleOf(id).describe()).runId },
  })

  async function trainingJob(more = {}) {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 150, save_steps: 10, ...more } })
    await api.until(id, ({ history }) => history.includes('"step":10'))
    return id
  }

  async function assertReaped(id: number, since: number) {
    const job = await api.until(id, ({ status }) => status === 'FAILED')
    const tookS = Math.round((Date.now() - since) / 1000)
    console.log(`job ${id} was released and FAILED ${tookS} s after its workflow was lost`)
    assert.ok(tookS <= 60, `it took ${tookS} s`)
    assert.equal(job.status_reason, 'workflow_terminated')
    assert.deepEqual(livingTrainers(id), [])
    assert.deepEqual(await database.attempts.listUnreleased(id, Infinity), [])
    return job
  }

  test('ends a job whose workflow was terminated; the resume completes it', async () => {
    const id = await trainingJob()
    await handleOf(id).terminate('by hand')
    const { status_message } = await assertReaped(id, Date.now())
    assert.match(status_message ?? '', /terminated/)
    await api.post(`/v1/train/jobs/${id}/resume`)
    const done = await api.untilStatus(id, 'COMPLETED')
    assert.equal(done.resume_count, 1)
  })

  test('ends a job whose workflow was deleted', async () => {
    const id = await trainingJob()
    await client.workflowService.deleteWorkflowExecution(await executionOf(id))
    const { status_message } = await assertReaped(id, Date.now())
    assert.match(status_message ?? '', /deleted/)
  })

  test('ends a job as CANCELLED when that was accepted before its workflow was terminated', async () => {
    const id = await trainingJob()
    // It does not hear SIGTERM: the release waits for the grace period.
    process.kill(pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer'), 'SIGSTOP')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await eventually(async () => {
      const { raw } = await handleOf(id).describe()
      return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'releaseJob')
    })
    await handleOf(id).terminate('by hand')
    await api.until(id, ({ status }) => status === 'CANCELLED')
    assert.deepEqual(livingTrainers(id), [])
  })

  test('leaves a job alone whose workflow was reset: it goes on to its end', async () => {
    const id = await trainingJob({ max_steps: 60 })
    const { events } = await handleOf(id).fetchHistory()
    const first = events?.find(({ workflowTaskCompletedEventAttributes: completed }) => completed)?.eventId
    await client.workflowService.resetWorkflowExecution({
      ...(await executionOf(id)),
      reason: 'by hand',
      requestId: randomUUID(),
      workflowTaskFinishEventId: first ?? assert.fail('no workflow task has been completed'),
    })
    const done = await api.untilStatus(id, 'COMPLETED')
    assert.equal(done.resume_count, 0)
    const { attempts } = await api.get<{ attempts: unknown[] }>(`/v1/train/jobs/${id}/attempts`)
    assert.equal(attempts.length, 1)
  })

  test('starts the workflow of a batch again that was terminated; the batch is done once', async () => {
    const body = { model_name: connection().baseModel, prompt: sampleRows.map(({ input }) => input), max_tokens: 4 }
    await api.post('/v1/completions', { ...body, prompt: 'Who?' })
    // Held, so that the batch is not done before.
    const server = livingServers(connection().baseModel)[0] ?? assert.fail('it has no server')
    process.kill(server, 'SIGSTOP')
    const { id } = await api.post<{ id: string }>('/v1/batch_completions', body)
    const handle = client.workflow.getHandle(inferenceBatchWorkflowId(id))
    await eventually(async () => (await handle.describe().catch(() => null))?.status.name === 'RUNNING')
    await handle.terminate('by hand')
    process.kill(server, 'SIGCONT')
    const { finish_reason } = await eventually(async () => {
      const result = await api.get<{ finish_reason?: (string | null)[] }>(`/v1/batch_completions/${id}/result`)
      return result.finish_reason?.includes(null) === false && { finish_reason: result.finish_reason }
    })
    assert.equal(finish_reason.length, sampleRows.length)
    // Its result is there before its run closes.
    await eventually(async () => (await handle.describe()).status.name === 'COMPLETED')
  })

  test('ends runs of attempts that are unknown or released, and of model servers of another generation', async () => {
    const id = await api.train({ upload_file_path: await api.upload('broken', 'not a data set') })
    await api.until(id, ({ status }) => status === 'FAILED')
    const server = modelServerName(connection().baseModel)
    await launchSleeper(`ft-${id}-a9`, 'trainer', { job: String(id), attempt: '9', account: 'none' })
    await launchSleeper('model-server-stray', 'model-server', { server, generation: '-1' })
    for (const name of [`ft-${id}-a9`, 'model-server-stray']) {
      const pid = await eventually(() => pidOf(name))
      await eventually(() => livingInGroup(pid).length === 0)
    }
  })

  test('lets a server go on whose workflow was terminated, and has it watched again', async () => {
    const model_name = connection().baseModel
    const complete = () =>
      api.request('POST', '/v1/completions', { model_name, prompt: 'a', max_tokens: 1 }).then(({ status }) => status)
    await eventually(async () => (await complete()) === 200)
    const handle = client.workflow.getHandle(modelServerName(model_name))
    const before = (await handle.describe()).runId
    await handle.terminate('by hand')
    const watched = await eventually(async () => {
      const { runId, status } = await handle.describe()
      return runId !== before && status.name === 'RUNNING' && runId
    })
    assert.notEqual(watched, before)
    assert.equal(await complete(), 200)
  })

  test('does nothing about a run whose state is unreachable', async () => {
    const id = await trainingJob()
    const away = () => Promise.reject(new Error('away'))
    const activities = createReaperActivities({
      database,
      trainers: { list: away },
      modelServers: { list: away },
      executions: { describe: away, listOpen: () => Promise.resolve(new Set<string>()) },
      settings: { terminationGraceMs: 1000 },
      log: { warn: () => undefined },
      countReaped: () => assert.fail('it counted'),
    } as unknown as ReaperDependencies)
    const look = new MockActivityEnvironment()
    await assert.rejects(look.run(activities.findLostJobs), /away/)
    await assert.rejects(look.run(activities.endLostJob, { jobId: id, generation: 1 }), /away/)
    await assert.rejects(look.run(activities.findStrayRuns), /away/)
    assert.equal((await api.job(id)).status, 'TRAINING MODEL')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.untilStatus(id, 'CANCELLED')
  })
})
