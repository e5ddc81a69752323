// Another team's workflow, in its own namespace and with its own worker, orders jobs through Nexus.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { Client, Connection, WorkflowFailedError } from '@temporalio/client'
import { CancelledFailure, NexusOperationFailure } from '@temporalio/common'
import { root } from '../../tools/paths.mjs'
import { nexusTaskQueue, type Evaluated, type FineTuned } from '../../workflows/nexus-service.ts'
import { eventually } from '../support/eventually.ts'
import { connection, openAccount, type Job } from '../support/stack.ts'

suite('a workflow of another namespace', async () => {
  const namespace = 'other-team'
  const { temporalAddress: address, apiUrl, baseModel } = connection()
  const api = await openAccount()
  const temporal = await Connection.connect({ address })
  const client = new Client({ connection: temporal, namespace })
  const running: ChildProcess[] = []
  after(async () => {
    for (const child of running) child.kill('SIGKILL')
    await temporal.close()
  })

  const start = (...args: string[]) => {
    const env = { ...process.env, ANNEAL_URL: apiUrl, ANNEAL_API_KEY: api.apiKey, TEMPORAL_ADDRESS: address }
    const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'ignore', 'inherit'] })
    running.push(child)
    return child
  }
  const startCaller = () => start(join(root, 'test/temporal/nexus-caller.ts'), address, namespace)
  const startOurs = () => start(join(root, 'src/nexus.ts'))
  const kill = async (child: ChildProcess) => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const newestJob = async () => (await api.get<Job[]>('/v1/train/jobs?limit=1'))[0]

  before(async () => {
    const day = { seconds: 86_400 as never }
    await temporal.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day })
    await temporal.operatorService.createNexusEndpoint({
      spec: { name: 'anneal', target: { worker: { namespace: 'default', taskQueue: nexusTaskQueue } } },
    })
    await api.upload('nexus', readFileSync(join(root, 'models/samples/products.jsonl')))
  })

  let [ours, callers] = [startOurs(), startCaller()]
  const order = (max_steps: number) => ({ model_name: baseModel, dataset_id: 'nexus', finetune_args: { max_steps } })
  const begin = <T>(workflow: string, workflowId: string, input: object) =>
    client.workflow.start<(input: object) => Promise<T>>(workflow, {
      workflowId,
      taskQueue: 'other-team',
      args: [input],
    })

  test('gets the model of its fine-tune, though both workers are killed in the middle', async () => {
    const caller = await begin<FineTuned>('tune', 'tune-1', order(200))
    await eventually(async () => (await newestJob())?.status === 'TRAINING MODEL')
    await Promise.all([kill(ours), kill(callers)])
    ;[ours, callers] = [startOurs(), startCaller()]
    const tuned = await caller.result()
    const job = await api.job(tuned.job_id)
    assert.deepEqual([tuned.status, tuned.model_name], ['COMPLETED', job.model_name])
    assert.equal((await api.get<Job[]>('/v1/train/jobs')).length, 1)
    assert.equal(job.resume_count, 0)
  })

  test('has its cancel reach the job, and is told when the job has ended', async () => {
    const caller = await begin<FineTuned>('tune', 'tune-2', order(100_000))
    await eventually(async () => (await newestJob())?.status === 'TRAINING MODEL')
    await caller.cancel()
    const error = await caller.result().catch((reason: unknown) => reason)
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure, String(error))
    assert.equal((await newestJob())?.status, 'CANCELLED')
  })

  test('is told why an order is refused', async () => {
    const caller = await begin<FineTuned>('tune', 'tune-3', { ...order(1), model_name: 'no-such-model' })
    const error = await caller.result().catch((reason: unknown) => reason)
    assert.ok(error instanceof WorkflowFailedError && error.cause instanceof NexusOperationFailure, String(error))
    assert.match(JSON.stringify(error.cause, ['cause', 'message']), /no-such-model/)
  })

  test('gets the comparison of an evaluation', async () => {
    const tuned = (await api.get<Job[]>('/v1/train/jobs')).find(({ status }) => status === 'COMPLETED')?.model_name
    const caller = await begin<Evaluated>('compare', 'compare-1', {
      models: [tuned, baseModel],
      dataset_id: 'nexus',
      max_rows: 5,
      max_tokens: 8,
    })
    const { status, comparison } = await caller.result()
    assert.equal(status, 'COMPLETED')
    assert.ok(comparison)
  })
})
