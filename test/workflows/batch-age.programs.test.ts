// The workflow of batches on a Temporal server of its own, where nobody works off chunks.
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root, toolPath } from '../../tools/paths.mjs'
import { searchAttributes, taskQueue, type InferenceBatchInput } from '../../workflows/contract.ts'

suite('a batch', async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const temporal = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: process.env['ANNEAL_TEMPORAL_BIN'] ?? toolPath('temporal') },
      searchAttributes: Object.values(searchAttributes),
      log: { level: 'error', format: 'pretty' },
    },
  })
  after(() => temporal.teardown())

  test('whose turn never comes fails at its age limit, and tells its owner', async () => {
    const failures: { batchId: string; message: string }[] = []
    const failBatch = (failure: { batchId: string; message: string }) => Promise.resolve(void failures.push(failure))
    const worker = await Worker.create({
      connection: temporal.nativeConnection,
      taskQueue,
      workflowsPath: join(root, 'workflows/inference-batch.ts'),
      activities: { failBatch },
    })
    const input: InferenceBatchInput = { batchId: 'waiting', chunkCount: 3, ageLimitMs: 1000 }
    const run = temporal.client.workflow.execute('inferenceBatch', { workflowId: 'waiting', taskQueue, args: [input] })
    await assert.rejects(worker.runUntil(run), { name: 'WorkflowFailedError' })
    const [{ batchId, message } = assert.fail('no failure')] = failures
    assert.deepEqual([failures.length, batchId], [1, 'waiting'])
    assert.match(message, /did not finish within its time limit/)
  })
})
