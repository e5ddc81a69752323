// Against the real database: the end of a batch of requests, and what may still happen to it.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('a batch of requests', () => {
  const database = openDatabase()

  const sandbox = createSandbox(database)
  const withAccount = (work: (tx: Repositories, accountId: string, open: () => Promise<string>) => Promise<void>) =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      await work(tx, accountId, async () => {
        const id = randomUUID()
        const chunks = [0, 1].map((offset) => ({ offset, sizeBytes: 1 }))
        await tx.inferenceBatches.create({
          ...{ id, accountId, apiKeyId: 'none', kind: 'requests', modelName: '', promptsKey: id, itemCount: 4 },
          request: { chunkSize: 2, chunks, input: null },
        })
        return id
      })
    })

  const results = { values: '{}\n', finishReasons: '', errors: '{}\n', errorCount: 1, step: 0, isFinal: true }
  const fileOf = () => {
    const versionId = randomUUID()
    return { id: `file-${versionId.replaceAll('-', '')}`, versionId, key: versionId, name: 'o.jsonl', sizeBytes: 3 }
  }

  test('counts refused lines once, begins none after a cancel, and takes no result once its files are written', () =>
    withAccount(async (tx, accountId, open) => {
      const id = await open()
      const save = (start: number) => tx.inferenceBatches.saveChunk({ batchId: id, start, itemCount: 2 }, results)
      const find = async () => (await tx.requestBatches.find(accountId, id)) ?? assert.fail()
      assert.equal(typeof (await tx.inferenceBatches.begin(id)), 'number')
      await save(0)
      await save(0)
      assert.deepEqual([(await find()).doneCount, (await find()).failedCount], [2, 1])
      assert.equal(await tx.requestBatches.requestEnd(id, 'cancelled', null), true)
      assert.equal(await tx.requestBatches.requestEnd(id, 'failed', 'later'), true)
      assert.equal(await tx.inferenceBatches.begin(id), null)
      assert.equal(await tx.requestBatches.freeze(id), 'cancelled')
      await save(2)
      assert.equal((await find()).doneCount, 2)
      assert.equal(await tx.requestBatches.requestEnd(id, 'cancelled', null), false)
      const [output, errors] = [fileOf(), fileOf()]
      assert.equal(await tx.requestBatches.close({ id, accountId }, { output, errors }), true)
      assert.equal(await tx.requestBatches.close({ id, accountId }, { output, errors }), false)
      const { state, endReason, outputFileId } = await find()
      assert.deepEqual([state, endReason, outputFileId], ['failed', 'cancelled', output.id])
      assert.equal(await tx.inferenceBatches.findChunk({ batchId: id, start: 0 }), null)
      const page = { after: null, limit: 10, isOldestFirst: true, purpose: 'batch_output' as const }
      const files = await tx.datasets.listFiles(accountId, page)
      assert.deepEqual(files.map((file) => file.datasetId).toSorted(), [output.id, errors.id].toSorted())
      assert.deepEqual(await tx.datasets.listFiles(accountId, { ...page, purpose: 'batch' }), [])
    }))

  test('has input files that go when their time is over', () =>
    withAccount(async (tx, accountId) => {
      const keep = async (lifeSeconds: number | undefined) => {
        const id = randomUUID()
        const datasetId = `file-${id.replaceAll('-', '')}`
        await tx.datasets.createVersion({ id, accountId, datasetId: id, version: 1, uploadKey: id })
        const kept = { datasetId, isPublic: false, sizeBytes: 3, fileName: 'a', purpose: 'batch' as const, lifeSeconds }
        await tx.datasets.keep(id, kept)
        return { id, datasetId }
      }
      const [old, young, lasting] = [await keep(-1), await keep(3600), await keep(undefined)]
      const found = async ({ datasetId }: { datasetId: string }) => tx.datasets.findFile(accountId, datasetId)
      assert.deepEqual([await found(old), (await found(lasting))?.expiresAt], [null, null])
      const { createdAt, expiresAt } = (await found(young)) ?? assert.fail()
      assert.equal((expiresAt?.getTime() ?? 0) - createdAt.getTime(), 3_600_000)
      const expired = (await tx.datasets.expired(1000)).map(({ id }) => id)
      assert.ok(expired.includes(old.id) && !expired.includes(young.id) && !expired.includes(lasting.id))
      const page = { after: null, limit: 10, isOldestFirst: true }
      assert.equal((await tx.datasets.listFiles(accountId, page)).length, 2)
    }))

  test('is listed newest first, for its account only', () =>
    withAccount(async (tx, accountId, open) => {
      const ids = [await open(), await open(), await open()].toSorted().toReversed()
      const list = async (after: string | null) =>
        (await tx.requestBatches.list(accountId, { after, limit: 2 })).rows.map(({ id }) => id)
      // Rows of one transaction have one time, so the id decides.
      assert.deepEqual(await list(null), ids.slice(0, 2))
      assert.deepEqual(await list(ids[1] ?? null), ids.slice(2))
      assert.equal(await tx.requestBatches.find(randomUUID(), ids[0] ?? ''), null)
      assert.equal((await tx.requestBatches.list(randomUUID(), { after: null, limit: 2 })).rows.length, 0)
    }))
})
