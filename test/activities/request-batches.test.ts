// The end of a batch of requests over a table and a store in memory: which try's files stay.
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestBatchEnd } from '../../activities/request-batches.ts'
import type { InferenceBatch } from '../../src/domain/inference-batch.ts'
import type { WrittenFile } from '../../src/repositories/request-batches.ts'

const values = ['{"id":0}\n', '{"id":1}\n']

function open() {
  const objects = new Map<string, string>([['prompts', '']])
  const batch = {
    ...{ id: 'b', accountId: 'a', apiKeyId: 'k', kind: 'requests', modelName: '', promptsKey: 'prompts', itemCount: 2 },
    ...{ state: 'running', message: null, resultKey: null },
    request: {
      ...{ chunkSize: 1, input: null, chunks: values.map(() => ({ offset: 0, sizeBytes: 0 })) },
      requests: { output: { id: 'file-o', versionId: 'o' }, errors: { id: 'file-e', versionId: 'e' } },
    },
  } as unknown as InferenceBatch
  let hasChunks = true
  let named: Record<string, WrittenFile | null> | undefined
  /** Runs before chunk 1 is read. */
  let pause = async (): Promise<void> => undefined
  const findChunk = async ({ start }: { start: number }) => {
    if (start === 1) await pause()
    return hasChunks ? { values: values[start], errors: `error ${start}\n` } : null
  }
  const close = async (_batch: unknown, files: Record<string, WrittenFile | null>) => {
    if (named) return false
    named = files
    hasChunks = false
    return true
  }
  const database = {
    inferenceBatches: { findChunk },
    requestBatches: { freeze: async () => null },
    transaction: async (work: (tx: object) => unknown) => work({ requestBatches: { close } }),
  }
  const storage = {
    async writeStream(key: string, chunks: AsyncIterable<Buffer>, signal?: AbortSignal) {
      let text = ''
      for await (const chunk of chunks) {
        signal?.throwIfAborted()
        text += chunk.toString()
      }
      signal?.throwIfAborted()
      objects.set(key, text)
      return text.length
    },
    readRange: async () => ({ bytes: Buffer.alloc(0), sizeBytes: 0 }),
    remove: async (keys: string[]) => keys.forEach((key) => objects.delete(key)),
  }
  const end = createRequestBatchEnd({ database, storage } as unknown as Parameters<typeof createRequestBatchEnd>[0])
  return {
    objects,
    database,
    run: (environment = new MockActivityEnvironment()) => environment.run(end, batch),
    pauseBy: (work: () => Promise<void>) => (pause = work),
    keys: () => [named?.['output']?.key ?? '', named?.['errors']?.key ?? ''],
  }
}

const assertWhole = ({ objects, keys }: ReturnType<typeof open>) => {
  const [output = '', errors = ''] = keys()
  assert.deepEqual(Object.fromEntries(objects), { [output]: values.join(''), [errors]: 'error 0\nerror 1\n' })
}

test('an abandoned try keeps the files of a later try and leaves none of its own', async () => {
  const world = open()
  const [paused, resume] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  world.pauseBy(() => {
    world.pauseBy(async () => undefined)
    paused.resolve()
    return resume.promise
  })
  const first = world.run()
  await paused.promise
  await world.run()
  assertWhole(world)
  resume.resolve()
  await first
  assertWhole(world)
})

test('a try that is cancelled between its files leaves none', async () => {
  const world = open()
  const environment = new MockActivityEnvironment()
  let reads = 0
  world.pauseBy(async () => {
    if (++reads === 2) environment.cancel()
  })
  await assert.rejects(world.run(environment))
  assert.deepEqual([...world.objects.keys()], ['prompts'])
  await world.run()
  assertWhole(world)
})

test('files whose commit was answered with an error stay when the end is tried again', async () => {
  const world = open()
  const { transaction } = world.database
  world.database.transaction = async (work) => {
    await transaction(work)
    throw new Error('connection lost')
  }
  await assert.rejects(world.run(), /connection lost/)
  world.database.transaction = transaction
  // Reads the batch as still running.
  await world.run()
  assertWhole(world)
})
