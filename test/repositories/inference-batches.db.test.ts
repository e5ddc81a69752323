// Against the real database: a chunk counts once, whoever writes it and how often.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mock, suite, test } from 'node:test'
import type { ChunkResults } from '../../src/domain/inference-batch.ts'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('chunks of a batch', () => {
  const database = openDatabase()

  const sandbox = createSandbox(database)
  const withBatch = (work: (tx: Repositories, batchId: string, accountId: string) => Promise<void>) =>
    sandbox(async (tx) => {
      const [id, accountId] = [randomUUID(), await anAccount(tx)]
      const request = { chunkSize: 2, chunks: [{ offset: 0, sizeBytes: 10 }], input: null }
      await tx.inferenceBatches.create({
        ...{
          id,
          accountId,
          apiKeyId: 'none',
          kind: 'streaming',
          modelName: 'm',
          promptsKey: id,
          itemCount: 4,
          request,
        },
      })
      await work(tx, id, accountId)
    })

  const results = (values: string, step: number, isFinal: boolean): ChunkResults => ({
    values,
    finishReasons: '"stop"',
    step,
    isFinal,
    errors: '',
    errorCount: 0,
  })

  test('grow, and never shrink; what is final stays', () =>
    withBatch(async (tx, batchId) => {
      const save = (text: string, step: number, isFinal = false) =>
        tx.inferenceBatches.saveChunk({ batchId, start: 0, itemCount: 2 }, results(text, step, isFinal))
      const shown = async () => (await tx.inferenceBatches.listLeadingChunks(batchId, 2)).map(({ values }) => values)
      await save('a', 0)
      await save('ab', 1)
      await save('a', 0)
      assert.deepEqual(await shown(), ['ab'])
      // A second try may come to the end in fewer steps.
      await save('abc', 0, true)
      await save('other', 9, true)
      assert.deepEqual(await shown(), ['abc'])
      assert.ok(await tx.inferenceBatches.isChunkFinal({ batchId, start: 0 }))
    }))

  test('count in the bytes of the account once the batch is done: as rows, or as an object with the items', async () => {
    for (const resultKey of [null, 'key']) await countedIn(resultKey)
  })

  const countedIn = (resultKey: string | null) =>
    withBatch(async (tx, batchId, accountId) => {
      const requestBytes = await tx.accounts.rowBytes(accountId)
      assert.ok(requestBytes > 10)
      assert.equal(await tx.accounts.storedBytes(accountId), 10)
      await tx.inferenceBatches.saveChunk({ batchId, start: 0, itemCount: 2 }, results('"a"', 0, true))
      const { sizeBytes } = await tx.inferenceBatches.measureResults(batchId)
      for (const repeat of [false, true]) assert.equal(await tx.inferenceBatches.finish(batchId, resultKey), !repeat)
      const [inRows, inObjects] = resultKey === null ? [sizeBytes, 0] : [0, sizeBytes]
      assert.equal(await tx.accounts.storedBytes(accountId), 10 + inObjects)
      assert.equal(await tx.accounts.rowBytes(accountId), requestBytes + inRows)
    })

  test('are read as far as they are shown: up to the first that has no results', () =>
    withBatch(async (tx, batchId) => {
      const shown = async () => (await tx.inferenceBatches.listLeadingChunks(batchId, 2)).map(({ values }) => values)
      const save = (start: number) =>
        tx.inferenceBatches.saveChunk({ batchId, start, itemCount: 2 }, results(`from ${start}`, 0, true))
      await save(2)
      await save(6)
      assert.deepEqual(await shown(), [])
      await save(0)
      assert.deepEqual(await shown(), ['from 0', 'from 2'])
      const later = await tx.inferenceBatches.listLeadingChunks(batchId, 2, 1)
      assert.deepEqual(
        later.map(({ values }) => values),
        ['from 2'],
      )
      assert.deepEqual(await tx.inferenceBatches.listLeadingChunks(batchId, 2, 2), [])
    }))

  test('age from the start of the first one, and only while their batch runs', () =>
    withBatch(async (tx, batchId) => {
      // Two begin in one transaction, in which the clock stands still.
      assert.deepEqual([await tx.inferenceBatches.begin(batchId), await tx.inferenceBatches.begin(batchId)], [0, 0])
      await tx.inferenceBatches.finish(batchId, null)
      assert.equal(await tx.inferenceBatches.begin(batchId), null)
    }))

  test('count the items that were refused, and the answers without text', () =>
    withBatch(async (tx, batchId) => {
      const save = (start: number, more: Partial<ChunkResults>) =>
        tx.inferenceBatches.saveChunk({ batchId, start, itemCount: 2 }, { ...results('null', 0, true), ...more })
      await save(0, { errors: '{}', errorCount: 1 })
      await save(2, { emptyCount: 2 })
      await save(2, { emptyCount: 2 })
      const { doneCount, failedCount, emptyCount } = await tx.inferenceBatches.get(batchId)
      assert.deepEqual([doneCount, failedCount, emptyCount], [4, 1, 2])
      assert.equal((await tx.inferenceBatches.measureResults(batchId)).errorCount, 1)
    }))

  test('keep NUL, numbers and the order of fields as they were written', () =>
    withBatch(async (tx, batchId) => {
      const text = String.raw`{"b":1.0,"a":"\u0000 \" é"}`
      await tx.inferenceBatches.saveChunk({ batchId, start: 2, itemCount: 2 }, results(text, 0, true))
      assert.equal((await tx.inferenceBatches.findChunk({ batchId, start: 2 }))?.values, text)
    }))

  test('are refused after the batch has ended, and the batch ends once', () =>
    withBatch(async (tx, batchId) => {
      const chunk = { batchId, start: 0, itemCount: 2 }
      await tx.inferenceBatches.saveChunk(chunk, results('a', 0, true))
      assert.equal(await tx.inferenceBatches.finish(batchId, 'key'), true)
      assert.equal(await tx.inferenceBatches.finish(batchId, 'other'), false)
      await tx.inferenceBatches.fail(batchId, 'too late')
      await tx.inferenceBatches.saveChunk(chunk, results('b', 1, true))
      const { state, resultKey, message } = await tx.inferenceBatches.get(batchId)
      assert.deepEqual({ state, resultKey, message }, { state: 'done', resultKey: 'key', message: null })
      assert.deepEqual(await tx.inferenceBatches.listLeadingChunks(batchId, 2), [])
    }))

  for (const ending of ['finish', 'fail'] as const)
    test(`${ending} at the time of the database, by whose clock they are kept`, () =>
      withBatch(async (tx, batchId) => {
        const nowMs = (await database.now()).getTime()
        const endedBefore = async (ms: number) => {
          const old = await tx.durableWork.listOld('batch', new Date(nowMs + ms), 100_000)
          return old.some(({ id }) => id === batchId)
        }
        mock.timers.enable({ apis: ['Date'], now: nowMs + 6 * 3_600_000 })
        try {
          await tx.inferenceBatches[ending](batchId, 'key')
        } finally {
          mock.timers.reset()
        }
        assert.deepEqual([await endedBefore(-60_000), await endedBefore(60_000)], [false, true])
      }))
})
