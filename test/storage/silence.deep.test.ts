// An object store behind a network that swallows packets: every call ends in an error that says so, and the next one works.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { isOutage } from '../../src/domain/outage.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { startLinkTo } from '../support/faulty-link.ts'
import { connection } from '../support/stack.ts'
import { untilSucceeds } from '../support/eventually.ts'

const megabyte = 1024 * 1024

suite('an object store behind a network that swallows', async () => {
  const timeouts = { connectMs: 2000, silenceMs: 1000, workMs: 1500 }
  const { endpoint, bucket, accessKey, secretKey } = connection().s3
  const { link, url } = await startLinkTo(endpoint)
  const config = { region: 'us-east-1', bucket, accessKey, secretKey }
  const storage = createStorage({ ...config, endpoint: url }, timeouts)
  const direct = createStorage({ ...config, endpoint })
  const key = `inline/test/${randomUUID()}/rows.jsonl`
  const body = Buffer.alloc(20 * megabyte, 'x')
  await direct.write(key, body)
  after(async () => {
    await direct.remove([key])
    link.close()
  })

  const calls: Record<string, () => Promise<unknown>> = {
    check: () => storage.check(),
    stat: () => storage.stat(key),
    read: () => storage.read(key),
    // It arrives all the same, once the network is back.
    write: () => storage.write(`${key}.late`, Buffer.from('y')),
    copy: () => storage.copy(key, `${key}.copy`),
    remove: () => storage.remove([`${key}.none`]),
    list: () => storage.removeFolder('inline/test/none/'),
  }
  for (const [name, call] of Object.entries(calls))
    test(`${name} ends`, async () => {
      await storage.check()
      link.fail({ kind: 'blackhole' })
      await assert.rejects(call, isOutage)
      link.mend()
      await untilSucceeds(() => storage.check())
    })

  test('an object that stops midway ends its reader; slow reading does not', async () => {
    const slow = await storage.read(key)
    assert.ok(slow)
    let sizeBytes = 0
    for await (const chunk of slow as AsyncIterable<Buffer>) {
      // Longer than the store may be silent.
      if (sizeBytes === 0) await new Promise((resolve) => setTimeout(resolve, timeouts.silenceMs * 2))
      sizeBytes += chunk.length
    }
    assert.equal(sizeBytes, body.length)
    const cut = await storage.read(key)
    assert.ok(cut)
    cut.once('data', () => link.fail({ kind: 'blackhole' }))
    await assert.rejects(buffer(cut), isOutage)
    link.mend()
  })

  test('an upload that stops midway ends', async () => {
    async function* chunks() {
      for (let part = 0; part < 20; part++) {
        if (part === 12) link.fail({ kind: 'blackhole' })
        yield Buffer.alloc(megabyte, 'x')
      }
    }
    await assert.rejects(storage.writeStream(`${key}.2`, chunks()), isOutage)
    link.mend()
    await untilSucceeds(() => storage.check())
    assert.equal(await storage.stat(`${key}.2`), null)
    await storage.abortStaleUploads(0)
  })
})
