// Completing an upload on Postgres, with an object store that is a set of keys.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import type { JoinedParts, PartsToJoin } from '../../../src/datasets/join-parts.ts'
import { cancelUpload } from '../../../src/services/uploads/cancel.ts'
import { completeUpload } from '../../../src/services/uploads/complete.ts'
import { anAccount } from '../../support/job-rows.ts'
import { openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

const md5 = 'a'.repeat(32)
const forEver = new AbortController().signal

suite('the complete of an upload', () => {
  const database = openDatabase(8)

  /** An upload of two parts. `join` takes as long as `joins` says. */
  async function anUpload({ maxStoredBytes = 1e9, joins = async () => {} }: Setting = {}) {
    const accountId = await anAccount(database)
    const objects = new Set<string>()
    const joined: string[][] = []
    const removed: string[] = []
    const storage = {
      async remove(keys: string[]) {
        removed.push(...keys)
        for (const key of keys) objects.delete(key)
      },
      dropUnfinished: async () => undefined,
    }
    const datasets = {
      async join({ pieces, key, md5: wanted }: PartsToJoin, signal: AbortSignal): Promise<JoinedParts> {
        joined.push(pieces.map((piece) => piece.key))
        await joins()
        signal.throwIfAborted()
        const isJoined = wanted === null || wanted === md5
        if (isJoined) objects.add(key)
        return { md5: wanted && md5, isJoined }
      },
    }
    const deps = { database, storage, datasets, settings: { maxStoredBytes }, log: { warn() {} } }
    const origin = { requestId: 'r', address: '127.0.0.1' }
    const ctx = contextOf({ deps, accountId, apiKeyId: 'k', origin })
    const id = randomUUID()
    await database.fileUploads.create({
      id,
      accountId,
      fileName: 'a',
      purpose: 'batch',
      sizeBytes: 12,
      lifeSeconds: null,
    })
    const partIds: string[] = []
    for (const sizeBytes of [5, 7]) {
      const partId = randomUUID()
      const uploadKey = `inline/${partId}`
      await database.datasets.createVersion({ id: partId, accountId, datasetId: partId, version: 1, uploadKey })
      await database.datasets.holdPart(partId, sizeBytes)
      await database.fileUploads.addPart(id, { id: partId, sizeBytes })
      objects.add(uploadKey)
      partIds.push(partId)
    }
    const complete = ({ ids = partIds, sum = null, signal = forEver }: Asked = {}) =>
      completeUpload({ ctx, input: { id, partIds: ids, md5: sum }, signal })
    return { id, accountId, ctx, partIds, objects, joined, removed, complete }
  }
  type Setting = { maxStoredBytes?: number; joins?: () => Promise<void> }
  type Asked = { ids?: string[]; sum?: string | null; signal?: AbortSignal }

  test('joins the parts once for sixteen requests, which all get the same file', async () => {
    const { complete, joined, objects, accountId } = await anUpload()
    const answers = await Promise.all(Array.from({ length: 16 }, () => complete()))
    assert.equal(joined.length, 1)
    assert.equal(new Set(answers.map(({ file }) => file?.id)).size, 1)
    assert.deepEqual([answers[0]?.upload.status, answers[0]?.file?.sizeBytes], ['completed', 12])
    assert.equal(objects.size, 1, 'only the file is left')
    assert.equal(await database.accounts.storedBytes(accountId), 12)
  })

  test('counts its file while the parts are joined, and goes on after its connection has ended', async () => {
    const [begun, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { complete, accountId } = await anUpload({
      joins() {
        begun.resolve()
        return mayEnd.promise
      },
    })
    const gone = new AbortController()
    const first = complete({ signal: gone.signal })
    await begun.promise
    assert.equal(await database.accounts.storedBytes(accountId), 24)
    gone.abort(new Error('the proxy has cut the connection'))
    const repeat = complete()
    mayEnd.resolve()
    assert.equal((await repeat).file?.id, (await first).file?.id)
  })

  test('reads an order of the parts once for any number of wrong MD5 sums, and stays open for the right one', async () => {
    const { complete, joined } = await anUpload()
    for (const digit of ['b', 'c', 'd'])
      await assert.rejects(complete({ sum: digit.repeat(32) }), { code: 'invalid_input', message: /has the MD5 sum a/ })
    assert.equal(joined.length, 1)
    assert.equal((await complete({ sum: md5.toUpperCase() })).upload.status, 'completed')
  })

  test('copies nothing without room for the file', async () => {
    const { complete, joined } = await anUpload({ maxStoredBytes: 12 })
    await assert.rejects(complete(), { code: 'quota_exceeded' })
    assert.deepEqual(joined, [])
  })

  test('waits for the process that joins, and takes over when it has died', async () => {
    const { id, complete, joined, removed, accountId } = await anUpload()
    const other = randomUUID()
    const uploadKey = `inline/${accountId}/${other}/rows.jsonl`
    await database.datasets.createVersion({ id: other, accountId, datasetId: other, version: 1, uploadKey })
    await database.fileUploads.claimJoin(id, other)
    const waiting = complete()
    assert.equal(await database.fileUploads.renewJoin(id, randomUUID()), false)
    assert.equal(await database.fileUploads.renewJoin(id, other), true)
    assert.deepEqual(joined, [])
    await database.fileUploads.endJoin(id, other)
    assert.equal((await waiting).upload.status, 'completed')
    assert.equal(removed.includes(uploadKey), true, 'what the other process had written is removed')
  })

  test('ends with 409 when the upload is cancelled meanwhile, and leaves nothing', async () => {
    const found: { cancel?: () => Promise<unknown> } = {}
    const { id, ctx, complete, objects, accountId } = await anUpload({
      joins: async () => void (await found.cancel?.()),
    })
    found.cancel = () => cancelUpload({ ctx, input: { id } })
    await assert.rejects(complete(), { code: 'conflict' })
    assert.deepEqual([objects.size, await database.accounts.storedBytes(accountId)], [0, 0])
  })
})
