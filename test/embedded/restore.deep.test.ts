// The drill of docs/operations.md, "Restore": the three stores come back as they were at different instants. Nothing is stuck
// then, nothing runs or is published twice, nothing is left behind.
import { Client, Connection as TemporalConnection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { stopStack } from '../../src/embedded/stop.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { sampleRows } from '../support/rows.ts'
import { createApi, type Job } from '../support/stack.ts'
import { putSnapshotsBack, takeSnapshot, type Store } from './support/snapshots.ts'
import { makeHome, processesOf, query, readConnection, startStack, whenReady } from './support/stack-process.ts'
import { eventually } from '../support/eventually.ts'

const settings = { ANNEAL_SLOTS: '2', ANNEAL_TERMINATION_GRACE_SECONDS: '10', LOG_LEVEL: 'warn' }
const run = { data: sampleRows, finetune_args: { max_steps: 40, save_steps: 10, seed: 7 } }
/** The tests beside it may leave it little of the processor. */
/** Reasons of jobs that lost their workflow, their rows or their data set. */
const lostReasons = ['workflow_terminated', 'restored', 'data_error']

/** The oldest first. */
type Order = [Store, Store, Store]
const orders: Order[] = [
  ['postgres', 'temporal', 's3'],
  ['s3', 'temporal', 'postgres'],
  ['temporal', 's3', 'postgres'],
]

describe('stores that are restored', () => {
  const home = makeHome()
  const connection = () => readConnection(home.dir) ?? assert.fail('connection.json is missing')
  const start = () => whenReady(home.dir, startStack(home.dir, 0, settings))
  let api: ReturnType<typeof createApi>
  /** The losses of an undisturbed job. */
  let losses: number[]

  before(async () => {
    await start()
    api = createApi(connection().apiKey, connection)
    const reference = await api.train(run)
    losses = lossesOf(await untilStatus(reference, 'COMPLETED'))
  })
  after(async () => {
    await stopStack(home.dir, () => {})
    home.remove()
  })

  const untilStatus = (id: number, wanted: string) => api.until(id, ({ status }) => status === wanted)
  const isAt = (step: number) => (job: Job) => job.history.includes(`"step":${step}`)
  const untilStep = (id: number, step: number) => api.until(id, isAt(step))
  const snapshot = (store: Store) => takeSnapshot(home.dir, store, processId(connection(), store))

  /** Jobs in every stage at each of the three instants, and what comes after the last. */
  async function live([first, second, third]: Order) {
    const cancelled = await api.train(run)
    await untilStep(cancelled, 10)
    await api.post(`/v1/train/jobs/${cancelled}/cancel`)
    await untilStatus(cancelled, 'CANCELLED')
    const running = await api.train(run)
    await untilStep(running, 10)
    snapshot(first)
    await api.post(`/v1/train/jobs/${cancelled}/resume`)
    await api.train(run)
    await untilStep(running, 30)
    snapshot(second)
    await untilStatus(running, 'COMPLETED')
    await untilStep(cancelled, 20)
    await api.train(run)
    snapshot(third)
    const last = await api.train(run)
    await untilStep(last, 10)
  }

  for (const order of orders)
    test(`converge: ${order.join(' older than ')}`, async () => {
      await live(order)
      await stopStack(home.dir, () => {})
      putSnapshotsBack(home.dir)
      await start()
      const startedAt = performance.now()

      await eventually(isTakenCareOf)
      console.log(`taken care of after ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
      // After jobs are forgotten, a new job would get the number of one of them.
      await query(
        connection().databaseUrl,
        `select setval(pg_get_serial_sequence('training_jobs', 'id'), (select max(id) from training_jobs))`,
      )
      await untilStatus(await api.train(run), 'COMPLETED')
      const mayLackData = order.indexOf('s3') < order.indexOf('postgres')
      for (const { job_id: id } of await ended()) {
        const job = await goOn(id)
        if (mayLackData && job.status_reason === 'data_error') continue
        assert.equal(job.status, 'COMPLETED', `job ${id}: ${job.status_message}`)
        assert.deepEqual(lossesOf(job), losses, `job ${id}`)
        await checkModel(job)
      }
      await checkNothingIsLeft()
    })

  /** An open job has an open run, and an open run has an open job. */
  async function isTakenCareOf() {
    const open = await query<{ id: number }>(
      connection().databaseUrl,
      `select id from training_jobs where status not in ('COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED') order by id`,
    )
    const running = await openRuns()
    return JSON.stringify(open.map(({ id }) => `fine-tune-${id}`).toSorted()) === JSON.stringify(running.toSorted())
  }

  async function openRuns(): Promise<string[]> {
    const temporal = await TemporalConnection.connect({ address: connection().temporalAddress })
    try {
      const ids: string[] = []
      const query = `WorkflowType = 'fineTune' AND ExecutionStatus = 'Running'`
      for await (const { workflowId } of new Client({ connection: temporal }).workflow.list({ query }))
        ids.push(workflowId)
      return ids
    } finally {
      await temporal.close()
    }
  }

  async function ended(): Promise<Job[]> {
    const ends = ['COMPLETED', 'CANCELLED', 'FAILED']
    return eventually(async () => {
      const jobs = await api.get<Job[]>('/v1/train/jobs')
      return jobs.every(({ status }) => ends.includes(status)) && jobs
    })
  }

  /** Its last word, after a resume where it was lost. */
  async function goOn(id: number): Promise<Job> {
    const job = await api.job(id)
    const { status, status_reason: reason, status_message: message } = job
    if (status === 'COMPLETED') return job
    if (status === 'FAILED') assert.ok(lostReasons.includes(reason ?? ''), `job ${id}: ${reason}: ${message}`)
    await api.post(`/v1/train/jobs/${id}/resume`)
    return api.until(id, (seen) => seen.status === 'COMPLETED' || seen.status === 'FAILED')
  }

  /** One whose bytes are older than its name says so; it never answers with others. */
  async function checkModel({ job_id: id, model_name }: Job) {
    const models = await query<{ name: string; files: { key: string; sha256: string }[] }>(
      connection().databaseUrl,
      `select name, files from models where job_id = ${id}`,
    )
    assert.deepEqual(
      models.map(({ name }) => name),
      [model_name],
    )
    const { endpoint, ...rest } = connection().s3
    const storage = createStorage({ endpoint, region: 'us-east-1', ...rest })
    const found = await Promise.all((models[0]?.files ?? []).map(({ key }) => storage.sha256(key)))
    const isWhole = found.every((each, index) => each?.sha256 === models[0]?.files[index]?.sha256)
    const { status, body } = await api.request('POST', '/v1/completions', { model_name, prompt: 'a', max_tokens: 1 })
    console.log(`job ${id}: ${isWhole ? 'its model answers' : `its model is gone: ${JSON.stringify(body)}`}`)
    assert.equal(status === 200, isWhole, `the model of job ${id} is answered by ${status}`)
  }

  async function checkNothingIsLeft() {
    const { databaseUrl } = connection()
    assert.deepEqual(await query(databaseUrl, 'select job_id, number from attempts where released_at is null'), [])
    assert.deepEqual(
      await query(databaseUrl, 'select workflow_id, kind from outbox_messages where delivered_at is null'),
      [],
    )
    await eventually(async () => (await openRuns()).length === 0)
    assert.deepEqual(processesOf(`${home.dir}/runs/ft-`), [])
  }
})

const lossesOf = ({ history }: Job) => (JSON.parse(history) as { step: number; loss: number }[]).map(({ loss }) => loss)
