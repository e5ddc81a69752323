// Fine-tunes with many attempts on a Temporal server of its own, which asks for a new run after few events.
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import type { AttemptOutcome } from '../../src/domain/attempt-outcome.ts'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import type { Database } from '../../src/repositories/database.ts'
import type { ClaimedMessage } from '../../src/repositories/outbox.ts'
import { createDeliver } from '../../src/temporal/deliver-message.ts'
import { createWorkflowExecutions } from '../../src/temporal/workflow-executions.ts'
import { root, toolPath } from '../../tools/paths.mjs'
import { searchAttributes, taskQueue, watchTaskQueue } from '../../workflows/contract.ts'
import { writeHistory } from '../replay/write-history.ts'
import { eventually } from '../support/eventually.ts'

/** An attempt makes about 40 events. */
const suggestAfterEvents = 100
const acceptedAt = new Date('2026-01-01T00:00:00Z')

suite('a fine-tune with many attempts', async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const temporal = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: process.env['ANNEAL_TEMPORAL_BIN'] ?? toolPath('temporal') },
      searchAttributes: Object.values(searchAttributes),
      extraArgs: ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${suggestAfterEvents}`],
      log: { level: 'error', format: 'pretty' },
    },
  })
  after(() => temporal.teardown())
  const { client, nativeConnection: connection } = temporal
  const connect = async () => {
    const another = await NativeConnection.connect({ address: temporal.address })
    after(() => another.close())
    return another
  }
  const workflowBundle = await bundleWorkflowCode({
    workflowsPath: join(root, 'workflows/index.ts'),
    logger: new DefaultLogger('ERROR'),
  })
  const database = {
    trainingJobs: { get: async () => ({ accountId: 'a', baseModel: 'm', status: 'QUEUED', generation: 1 }) },
  } as unknown as Database
  const deliver = createDeliver({ client, database, modelServerInput: () => assert.fail('no model is woken') })
  const executions = createWorkflowExecutions(client)

  /** Every attempt is killed at a new checkpoint until `attempts` of them have run. */
  function createJob(jobId: number, attempts: number) {
    const workflowId = fineTuneWorkflowId(jobId)
    const send = (kind: string, payload: object) =>
      deliver({ workflowId, kind, generation: 1, createdAt: acceptedAt, payload } as unknown as ClaimedMessage)
    const opened: number[] = []
    const calls: string[] = []
    const hooks = { onWatch: async (_attempt: number): Promise<void> => undefined }
    const outcomeOf = (attempt: number): AttemptOutcome => ({
      ...{ cause: 'killed', message: `Attempt ${attempt} was killed.`, mode: 'train' },
      ...{ modelSaved: attempt === attempts, evaluated: attempt === attempts },
      ...{ newCheckpoint: true, hasCheckpoint: true },
    })
    const noted = <T>(name: string, result: T) => {
      calls.push(name)
      return Promise.resolve(result)
    }
    const activities = {
      prepareDataset: () => noted('prepareDataset', undefined),
      openAttempt: async ({ ordinal }: { ordinal: number }) => {
        if (opened.at(-1) !== ordinal) opened.push(ordinal)
        return { attempt: ordinal + 1 }
      },
      launchAttempt: async () => 'launched',
      watchAttempt: ({ attempt }: { attempt: number }) => hooks.onWatch(attempt),
      releaseAttempt: async ({ attempt }: { attempt: number }) => ({ outcome: outcomeOf(attempt), resumesLeft: 1000 }),
      recordPhase: async ({ phase }: { phase: string }) => phase,
      requeue: async () => undefined,
      publishModel: () => noted('publishModel', { modelName: 'tuned', artifactId: 'a' }),
      acceptCancel: () => noted('acceptCancel', { ended: null }),
      releaseJob: () => noted('releaseJob', undefined),
      finishJob: ({ status }: { status: string }) => noted(`finishJob ${status}`, 'moved'),
    }
    /** A worker for each bundle, all of them at once. */
    const withWorkers = async <T>(work: () => Promise<T>, bundles = [workflowBundle]): Promise<T> => {
      const watcher = await Worker.create({ connection, taskQueue: watchTaskQueue, activities })
      // No cache: every task replays its run from the beginning, on any worker.
      const options = { taskQueue, activities, maxCachedWorkflows: 0 }
      const workers = await Promise.all(
        bundles.map(async (bundle, index) =>
          // Workers of one queue cannot share a connection.
          Worker.create({ ...options, workflowBundle: bundle, connection: index === 0 ? connection : await connect() }),
        ),
      )
      const all = workers.reduce((inner, worker) => () => worker.runUntil(inner), work)
      return watcher.runUntil(all)
    }
    return { workflowId, send, opened, calls, hooks, withWorkers }
  }

  const runsOf = async (workflowId: string) => {
    const runs: { runId: string; status: { name: string }; historyLength: number; memo?: Record<string, unknown> }[] =
      []
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs.push(run)
    return runs
  }

  test('continues in new runs, each short, as one job', async () => {
    const job = createJob(1, 12)
    job.hooks.onWatch = async (attempt) => {
      await job.send('phase', { attempt, phase: 'TRAINING MODEL' })
      await job.send('slot', { attempt })
    }
    await job.withWorkers(async () => {
      await job.send('start', { jobId: 1 })
      const result = await client.workflow.getHandle(job.workflowId).result()
      assert.deepEqual(result, { jobId: 1, status: 'COMPLETED', modelName: 'tuned', attempts: 12 })
    })
    assert.deepEqual(
      job.opened,
      Array.from({ length: 12 }, (_, ordinal) => ordinal),
    )
    assert.deepEqual(job.calls, ['prepareDataset', 'publishModel', 'finishJob COMPLETED'])
    const runs = await eventually(async () => {
      const all = await runsOf(job.workflowId)
      return all.length > 2 && all.every(({ status }) => status.name !== 'RUNNING') && all
    })
    for (const [index, { runId, historyLength, memo }] of runs.entries()) {
      assert.ok(historyLength < 2 * suggestAfterEvents, `${historyLength} events`)
      // Delivery and the reaper tell executions of a job apart by these.
      assert.deepEqual(memo, { generation: 1, acceptedAt: acceptedAt.toISOString() })
      const history = await client.workflow.getHandle(job.workflowId, runId).fetchHistory()
      await Worker.runReplayHistory({ workflowBundle }, history)
      const name = { 0: 'continued-last', [runs.length - 1]: 'continued-first' }[index]
      if (name && process.env['ANNEAL_RECORD_HISTORIES'] === '1') writeHistory(name, history)
    }
    assert.equal(runs.filter(({ status }) => status.name === 'CONTINUED_AS_NEW').length, runs.length - 1)
  })

  test('is cancelled wherever it stands, and a start that is delivered again starts nothing', async () => {
    for (const [jobId, attempt] of [
      [21, 2],
      [22, 3],
      [23, 4],
      [24, 5],
    ] as const) {
      const job = createJob(jobId, 100)
      job.hooks.onWatch = async (watched) => {
        if (watched !== attempt) return
        // The attempt ends by itself, in the moment in which the cancel arrives.
        await job.send('cancel', { jobId })
      }
      await job.withWorkers(async () => {
        await job.send('start', { jobId })
        await assert.rejects(client.workflow.getHandle(job.workflowId).result())
        await job.send('start', { jobId })
      })
      assert.deepEqual(job.calls, ['prepareDataset', 'acceptCancel', 'releaseJob', 'finishJob CANCELLED'])
      assert.equal((await executions.describe(job.workflowId))?.status, 'CANCELLED')
    }
  })

  test('goes on while workers of an old and of a later release run at once', async () => {
    const { workflow } =
      /\(0,\s*(?<workflow>\w+)\.allHandlersFinished\)/.exec(workflowBundle.code)?.groups ?? assert.fail()
    const loop = 'const ordinal = endedBefore'
    const step = `if ((0,${workflow}.patched)('a step of a later release')) await (0,${workflow}.sleep)(1);`
    const later = { ...workflowBundle, code: workflowBundle.code.replace(loop, `${step}\n${loop}`) }
    assert.notEqual(later.code, workflowBundle.code)
    const job = createJob(4, 4)
    await job.withWorkers(async () => {
      await job.send('start', { jobId: 4 })
      await client.workflow.getHandle(job.workflowId).result()
    }, [workflowBundle, later])
    assert.deepEqual(job.opened, [0, 1, 2, 3])
    assert.deepEqual(job.calls, ['prepareDataset', 'publishModel', 'finishJob COMPLETED'])
  })

  test('is open in Temporal between two runs, as the reaper sees it', async () => {
    const job = createJob(3, 12)
    const seen: (boolean | undefined)[] = []
    job.hooks.onWatch = async () => void seen.push((await executions.describe(job.workflowId))?.isRunning)
    await job.withWorkers(async () => {
      await job.send('start', { jobId: 3 })
      const result = client.workflow.getHandle(job.workflowId).result()
      let isOver = false
      const over = result.finally(() => (isOver = true))
      while (!isOver) {
        const before = await executions.describe(job.workflowId)
        if (!isOver) seen.push(before?.isRunning)
      }
      await over
    })
    assert.ok(seen.length >= 12 && seen.slice(0, -1).every(Boolean))
  })
})
