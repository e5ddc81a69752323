// The workflow of batches on a Temporal server of its own, with the settings of the embedded one.
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import type { Work } from '../../src/domain/durable-work.ts'
import { inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { dynamicConfig } from '../../src/embedded/temporal.ts'
import type { Database } from '../../src/repositories/database.ts'
import type { ClaimedMessage } from '../../src/repositories/outbox.ts'
import { createDeliver } from '../../src/temporal/deliver-message.ts'
import { root, toolPath } from '../../tools/paths.mjs'
import { inferenceTaskQueue, searchAttributes, taskQueue, type InferenceBatchInput } from '../../workflows/contract.ts'
import { eventually } from '../support/eventually.ts'

/** With several partitions a queue takes turns within each, so the order of all is left to chance. */
const onePartition = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1']

suite('batches', async () => {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const temporal = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: process.env['ANNEAL_TEMPORAL_BIN'] ?? toolPath('temporal') },
      searchAttributes: Object.values(searchAttributes),
      extraArgs: [...dynamicConfig, ...onePartition].flatMap((setting) => ['--dynamic-config-value', setting]),
      log: { level: 'error', format: 'pretty' },
    },
  })
  after(() => temporal.teardown())
  const { client, nativeConnection: connection } = temporal

  /** A batch's id begins with its account. */
  const database = {
    durableWork: {
      isOpen: async () => true,
      startOf: async ({ id }: Work) => ({
        accountId: id.split(' ')[0],
        input: { batchId: id, chunkCount: 1, ageLimitMs: 3_600_000 } satisfies InferenceBatchInput,
        ...{ summary: id, baseModel: 'm' },
      }),
    },
  } as unknown as Database
  const deliver = createDeliver({ client, database, modelServerInput: () => assert.fail('no model is woken') })
  const submit = (batchId: string) => {
    const workflowId = inferenceBatchWorkflowId(batchId)
    return deliver({ workflowId, kind: 'start-work', payload: { kind: 'batch', id: batchId } } as ClaimedMessage)
  }

  async function waitingChunks(): Promise<number> {
    let count = 0
    for await (const { workflowId } of client.workflow.list({ query: `ExecutionStatus = 'Running'` })) {
      const { raw } = await client.workflow.getHandle(workflowId).describe()
      count += raw.pendingActivities?.length ?? 0
    }
    return count
  }

  test('are not held up by another account with many waiting', async () => {
    const ended: string[] = []
    const activities = {
      runBatchChunk: async ({ batchId }: { batchId: string }) => void ended.push(batchId),
      finishBatch: async () => undefined,
      failBatch: () => assert.fail('no batch fails'),
    }
    const worker = await Worker.create({
      ...{ connection, taskQueue, activities },
      workflowsPath: join(root, 'workflows/inference-batch.ts'),
    })
    await worker.runUntil(async () => {
      const many = Array.from({ length: 60 }, (_, index) => `many ${index}`)
      for (const id of many) await submit(id)
      await eventually(async () => (await waitingChunks()) === many.length)
      // What waits for its turn has no limit of time.
      const { events } = await client.workflow.getHandle(inferenceBatchWorkflowId('many 0')).fetchHistory()
      const waiting = events?.find(({ activityTaskScheduledEventAttributes: chunk }) => chunk)
      const { scheduleToCloseTimeout, scheduleToStartTimeout } = waiting?.activityTaskScheduledEventAttributes ?? {}
      for (const limit of [scheduleToCloseTimeout, scheduleToStartTimeout]) assert.equal(Number(limit?.seconds ?? 0), 0)
      await submit('few 1')
      await submit('few 2')
      await eventually(async () => (await waitingChunks()) === many.length + 2)
      // The worker with a single place comes last, so that all of them wait in line.
      const options = { connection, taskQueue: inferenceTaskQueue, maxConcurrentActivityTaskExecutions: 1, activities }
      await (await Worker.create(options)).runUntil(() => eventually(() => ended.length === many.length + 2))
    })
    const last = ended.findLastIndex((id) => id.startsWith('few'))
    // First come, first served would give 61. The first chunk may be taken before the small account has its turn.
    assert.ok(last < 5, `the last batch of the small account had turn ${last + 1} of ${ended.length}`)
  })
})
