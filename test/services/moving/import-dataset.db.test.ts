// Imports of data sets on Postgres, with an object store that copies when the test says so.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { importDataset } from '../../../src/services/moving/import-dataset.ts'
import { anAccount } from '../../support/job-rows.ts'
import { openDatabase } from '../../support/sandbox.ts'
import { contextOf } from '../../support/service-context.ts'

const sha256 = 'a'.repeat(64)
const sizeBytes = 12
const version = { version: 1, sizeBytes, sha256, fileName: null, purpose: null, columns: null, isPublic: false }
const times = { createdAt: new Date('2026-11-01T00:00:00Z'), expiresAt: null }

suite('the import of a data set', () => {
  const database = openDatabase(8)

  async function anImporter(maxStoredBytes: number) {
    const accountId = await anAccount(database)
    const id = randomUUID()
    const place = { id, accountId, version: 1, uploadKey: `uploads/${id}` }
    await database.datasets.createVersion({ ...place, datasetId: `import-${sha256}` })
    const copying = Promise.withResolvers<void>()
    const storage = {
      stat: async () => ({ sizeBytes, etag: 'e' }),
      copy: () => copying.promise,
      sha256: async () => ({ sizeBytes, sha256 }),
      remove: async () => undefined,
    }
    const deps = { database, storage, settings: { maxStoredBytes }, log: { warn() {} } }
    const origin = { requestId: 'r', address: '127.0.0.1' }
    const ctx = contextOf({ deps, accountId, apiKeyId: 'k', origin })
    const bring = (datasetId: string, more: object = {}) =>
      importDataset({ ctx, input: { ...version, ...times, datasetId, ...more } })
    return { bring, copy: copying.resolve }
  }

  test('two at once never pass the limit of stored bytes together', async () => {
    const { bring, copy } = await anImporter(sizeBytes)
    const refused = Promise.withResolvers<unknown>()
    const both = ['one', 'two'].map((id) => bring(id).catch(refused.resolve))
    assert.match(String(await refused.promise), /the most that it may store/)
    copy()
    assert.equal((await Promise.all(both)).filter((state) => state === 'done').length, 1)
  })

  test('refuses rows that have expired', async () => {
    const { bring } = await anImporter(1e9)
    await assert.rejects(bring('old', { expiresAt: new Date(Date.now() - 1) }), /has expired: leave it out/)
  })
})
