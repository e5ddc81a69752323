// Objects that are too large for one request, with small parts on the real store.
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { suite, test } from 'node:test'
import { copyInParts, MultipartClient } from '../../src/storage/multipart.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { connection } from '../support/stack.ts'

/** The smallest that S3 takes. */
const partBytes = 5 * 1024 * 1024
const bytes = randomBytes(2 * partBytes + 3)
const sha256 = createHash('sha256').update(bytes).digest('hex')

suite('an object in parts', async () => {
  const { endpoint, accessKey, secretKey } = connection().s3
  const bucket = `parts-${randomUUID()}`
  const storage = createStorage({ endpoint, region: 'us-east-1', bucket, accessKey, secretKey, partBytes })
  await storage.ensureBucket()
  const aKey = () => `jobs/1/artifacts/${randomUUID()}/adapter_model.safetensors`
  /** All of them, whatever part of a second the store leaves out. */
  const dropUnfinished = () => storage.abortStaleUploads(-60_000)

  const part = (number: number) => bytes.subarray((number - 1) * partBytes, number * partBytes)
  async function put(urls: string[], ...numbers: number[]) {
    for (const number of numbers) {
      const response = await fetch(urls[number - 1] ?? '', { method: 'PUT', body: part(number) })
      assert.equal(response.status, 200, await response.text())
    }
  }

  async function uploaded(): Promise<string> {
    const key = aKey()
    await put(await storage.presignPodParts(key, bytes.length), 1, 2, 3)
    await storage.joinPodParts(key, bytes.length)
    return key
  }

  test('has the bytes of its parts in any order, also when parts and end are sent again', async () => {
    const key = aKey()
    const urls = await storage.presignPodParts(key, bytes.length)
    assert.equal(urls.length, 3)
    await put(urls, 3, 1, 1, 2)
    assert.equal(await storage.stat(key), null)
    await Promise.all([storage.joinPodParts(key, bytes.length), storage.joinPodParts(key, bytes.length)])
    await storage.joinPodParts(key, bytes.length)
    assert.deepEqual(await storage.sha256(key), { sha256, sizeBytes: bytes.length })
    assert.equal(await dropUnfinished(), 0)
  })

  test('is not made when a part is missing, and its parts are dropped', async () => {
    const key = aKey()
    await put(await storage.presignPodParts(key, bytes.length), 1, 3)
    await storage.joinPodParts(key, bytes.length)
    assert.equal(await storage.stat(key), null)
    assert.equal(await dropUnfinished(), 0)
  })

  test('is dropped with its URLs by the sweep when it stays unfinished', async () => {
    const urls = await storage.presignPodParts(aKey(), bytes.length)
    await put(urls, 1)
    assert.equal(await storage.abortStaleUploads(3_600_000), 0)
    assert.equal(await dropUnfinished(), 1)
    assert.equal((await fetch(urls[1] ?? '', { method: 'PUT', body: 'late' })).status, 404)
  })

  test('can no longer be changed by its URLs', async () => {
    const key = aKey()
    const urls = await storage.presignPodParts(key, bytes.length)
    await put(urls, 1, 2, 3)
    await storage.joinPodParts(key, bytes.length)
    assert.equal((await fetch(urls[0] ?? '', { method: 'PUT', body: 'late' })).status, 404)
    assert.equal((await storage.sha256(key))?.sha256, sha256)
  })

  test('is copied on the server in parts, with its metadata', async () => {
    const [from, to] = [await uploaded(), `models/a/${'b'.repeat(64)}/adapter_model.safetensors`]
    for (let repeat = 0; repeat < 2; repeat++) await storage.copy(from, to, { job: '7' })
    assert.deepEqual(await storage.sha256(to), { sha256, sizeBytes: bytes.length })
    assert.equal((await storage.metadata(to))['job'], '7')
    assert.equal(await dropUnfinished(), 0)
  })

  test('leaves neither copy nor parts when a copy breaks off', async () => {
    const { hostname, port } = new URL(endpoint)
    const options = { endPoint: hostname, port: Number(port), useSSL: false, region: 'us-east-1', accessKey, secretKey }
    const target = { client: new MultipartClient({ ...options, pathStyle: true }), bucket, key: aKey() }
    // The source is shorter than it was when the copy began.
    const copy = { from: await uploaded(), sizeBytes: 4 * partBytes, partBytes, headers: {} }
    await assert.rejects(copyInParts(target, copy))
    assert.equal(await storage.stat(target.key), null)
    assert.equal(await dropUnfinished(), 0)
  })

  test('is joined of others in their order, also of some that are too small for a part', async () => {
    const wholes = [part(1), part(2), part(3)]
    const smalls = [bytes.subarray(0, 7), bytes.subarray(7, partBytes + 9), bytes.subarray(partBytes + 9)]
    for (const pieces of [wholes, smalls]) {
      const stored = pieces.map((piece) => ({ key: aKey(), sizeBytes: piece.length, piece }))
      for (const { key, piece } of stored) await storage.write(key, Buffer.from(piece))
      const to = aKey()
      await storage.join(stored, to)
      assert.deepEqual(await storage.sha256(to), { sha256, sizeBytes: bytes.length })
      await storage.remove([stored[1]?.key ?? ''])
      await assert.rejects(storage.join(stored, aKey()))
    }
    assert.equal(await dropUnfinished(), 0)
  })

  test('is dropped by its key when a process has left it unfinished', async () => {
    const key = aKey()
    await put(await storage.presignPodParts(key, bytes.length), 1)
    for (let repeat = 0; repeat < 2; repeat++) await storage.dropUnfinished(key)
    assert.equal(await dropUnfinished(), 0)
  })

  test('needs no more parts than S3 takes', async () => {
    const tooLarge = { code: 'payload_too_large', message: /raise ANNEAL_UPLOAD_PART_MIB/ }
    await assert.rejects(storage.presignPodParts(aKey(), partBytes * 10_001), tooLarge)
    assert.equal(await dropUnfinished(), 0)
  })
})
