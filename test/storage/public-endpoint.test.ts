import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStorage } from '../../src/storage/storage.ts'

const settings = {
  endpoint: 'http://store.internal:9000',
  region: 'eu-central-1',
  bucket: 'anneal',
  accessKey: 'key',
  secretKey: 'secret',
}
const hostOf = async (url: Promise<string>) => new URL(await url).host

test("users' URLs name the public address, pods' the store's own", async () => {
  const storage = createStorage({ ...settings, publicEndpoint: 'https://files.example.com' })
  assert.equal(await hostOf(storage.presignUpload('a/b')), 'files.example.com')
  assert.equal(await hostOf(storage.presignDownload('a/b')), 'files.example.com')
  assert.equal(await hostOf(storage.presignPodPut('a/b')), 'store.internal:9000')
  assert.equal(await hostOf(storage.presignPodGet('a/b')), 'store.internal:9000')
  assert.equal(storage.urlPrefix, 'https://files.example.com/anneal/')
})

test('without a public endpoint all URLs name the same host', async () => {
  const storage = createStorage(settings)
  assert.equal(await hostOf(storage.presignUpload('a/b')), 'store.internal:9000')
  assert.equal(storage.urlPrefix, 'http://store.internal:9000/anneal/')
})
