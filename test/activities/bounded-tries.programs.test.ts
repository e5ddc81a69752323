// Tries are counted on a real Temporal server, also when the worker is killed.
import type { WorkflowHandle } from '@temporalio/client'
import { ApplicationFailure, defaultPayloadConverter } from '@temporalio/common'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { Worker } from '@temporalio/worker'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { root, toolPath } from '../../tools/paths.mjs'
import { until } from '../support/eventually.ts'

const taskQueue = 'tried'

let temporal: TestWorkflowEnvironment
let workflows: Worker
let running: Promise<void>
before(async () => {
  temporal = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: process.env['ANNEAL_TEMPORAL_BIN'] ?? toolPath('temporal') },
      log: { level: 'error', format: 'pretty' },
    },
  })
  workflows = await Worker.create({
    connection: temporal.nativeConnection,
    taskQueue,
    workflowsPath: `${root}/test/activities/support/tried-workflow.ts`,
  })
  running = workflows.run()
})
after(async () => {
  workflows.shutdown()
  await running
  await temporal.teardown()
})

/** Runs a worker until the condition holds, then kills it. */
async function withWorker(mode: string, isReached: () => Promise<boolean>) {
  const worker = spawn(
    process.execPath,
    [`${root}/test/activities/support/tried-worker.ts`, temporal.address, taskQueue, mode],
    { stdio: 'ignore' },
  )
  try {
    await until(`a worker that shall ${mode} has done so`, isReached)
  } finally {
    worker.kill('SIGKILL')
    await once(worker, 'exit')
  }
}

/** Of the activity as the server knows it. */
async function pending(handle: WorkflowHandle) {
  const { raw } = await handle.describe()
  const [activity] = raw.pendingActivities ?? []
  const [payload] = activity?.heartbeatDetails?.payloads ?? []
  const details = payload ? defaultPayloadConverter.fromPayload<{ tries: number }>(payload) : null
  return { attempt: activity?.attempt ?? 0, tries: details?.tries ?? 0 }
}

async function start(workflowId: string) {
  const handle = await temporal.client.workflow.start('tried', { taskQueue, workflowId })
  const dieAt = (tries: number) => withWorker('wait', async () => (await pending(handle)).tries === tries)
  const isOver = async () => (await handle.describe()).status.name !== 'RUNNING'
  return { handle, dieAt, isOver }
}

test('work that ends five workers fails with a sentence', { timeout: 120_000 }, async () => {
  const { handle, dieAt, isOver } = await start('deadly')
  for (let tries = 1; tries <= 5; tries++) await dieAt(tries)
  await withWorker('end', isOver)
  await assert.rejects(handle.result(), (error: Error) => {
    const failure = (error.cause as Error).cause
    assert.ok(failure instanceof ApplicationFailure && failure.type === 'Refused')
    assert.match(failure.message, /^The work has ended its worker, or failed on an unforeseen error, 5 times\.$/)
    return true
  })
})

test('an outage between two ends is not counted', { timeout: 120_000 }, async () => {
  const { handle, dieAt, isOver } = await start('unlucky')
  await dieAt(1)
  await withWorker('fail', async () => (await pending(handle)).attempt >= 12)
  for (let tries = 2; tries <= 4; tries++) await dieAt(tries)
  await withWorker('end', isOver)
  assert.equal(await handle.result(), 'done')
})
