// Uploads in parts on Postgres. Each test runs in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { Repositories } from '../../src/repositories/database.ts'
import { anAccount } from '../support/job-rows.ts'
import { createSandbox, openDatabase } from '../support/sandbox.ts'

suite('uploads in parts', () => {
  const database = openDatabase()
  const sandbox = createSandbox(database)

  async function anUpload(tx: Repositories, accountId: string) {
    const id = randomUUID()
    const head = { fileName: 'rows.jsonl', purpose: 'batch' as const, lifeSeconds: null }
    await tx.fileUploads.create({ id, accountId, sizeBytes: 9_000_000_000, ...head })
    return id
  }

  async function aPart(tx: Repositories, accountId: string, uploadId: string, sizeBytes: number) {
    const id = randomUUID()
    await tx.datasets.createVersion({ id, accountId, datasetId: id, version: 1, uploadKey: `inline/${id}` })
    await tx.datasets.holdPart(id, sizeBytes)
    await tx.fileUploads.addPart(uploadId, { id, sizeBytes })
    return id
  }

  test('are found by their account only, and count their parts as stored bytes until these are removed', () =>
    sandbox(async (tx) => {
      const [accountId, stranger] = [await anAccount(tx), await anAccount(tx)]
      const uploadId = await anUpload(tx, accountId)
      assert.equal(await tx.fileUploads.find(stranger, uploadId), null)
      assert.equal((await tx.fileUploads.find(accountId, uploadId))?.sizeBytes, 9_000_000_000)
      const partIds = [await aPart(tx, accountId, uploadId, 5), await aPart(tx, accountId, uploadId, 7)]
      assert.deepEqual(await tx.fileUploads.held(uploadId), { partCount: 2, sizeBytes: 12 })
      assert.equal(await tx.accounts.storedBytes(accountId), 12)
      assert.deepEqual(await tx.datasets.list(accountId, { after: null, limit: 10 }), [])
      for (const id of partIds) assert.equal(await tx.datasets.removeUnused(id), true)
      assert.deepEqual(await tx.fileUploads.held(uploadId), { partCount: 0, sizeBytes: 0 })
      assert.equal(await tx.accounts.storedBytes(accountId), 0)
    }))

  test('end once, and only those that have ended lose their parts', () =>
    sandbox(async (tx) => {
      const accountId = await anAccount(tx)
      const [open, cancelled, complete] = [
        await anUpload(tx, accountId),
        await anUpload(tx, accountId),
        await anUpload(tx, accountId),
      ]
      for (const id of [open, cancelled]) await aPart(tx, accountId, id, 1)
      await tx.fileUploads.cancel(cancelled)
      await tx.fileUploads.complete(complete, 'file-a')
      assert.equal(await tx.fileUploads.openCount(accountId), 1)
      const status = async (id: string) => (await tx.fileUploads.hold(accountId, id))?.status
      assert.deepEqual(
        [await status(open), await status(cancelled), await status(complete)],
        ['pending', 'cancelled', 'completed'],
      )
      const ended = (await tx.fileUploads.endedWithParts(1000)).map(({ id }) => id)
      assert.deepEqual([ended.includes(open), ended.includes(cancelled)], [false, true])
    }))
})
