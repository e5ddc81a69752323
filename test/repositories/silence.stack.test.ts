// A network that swallows packets: every call ends in an error that says so, and the next one after it works.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { buffer } from 'node:stream/consumers'
import { isOutage } from '../../src/domain/outage.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { listenToNotifications } from '../../src/repositories/notifications.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { startFaultyLink } from '../support/faulty-link.ts'
import { connection } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

const megabyte = 1024 * 1024
const throughProxy = (url: string, port: number) => Object.assign(new URL(url), { hostname: '127.0.0.1', port }).href

async function proxyOf(url: string) {
  const { hostname, port } = new URL(url)
  const proxy = await startFaultyLink({ host: hostname, port: Number(port) })
  after(() => proxy.close())
  return { proxy, url: throughProxy(url, proxy.port) }
}

suite('a database behind a network that swallows', async () => {
  const timeouts = { connectMs: 2000, statementMs: 10_000, silenceMs: 1000 }
  const { proxy, url } = await proxyOf(connection().databaseUrl)
  const database = connectDatabase(url, { poolSize: 2, timeouts })
  after(() => database.close())

  test('a query ends, also within a transaction, and the pool recovers', async () => {
    const inside = [() => database.check(), () => database.transaction((tx) => tx.accounts.find(randomUUID()))]
    for (const call of inside) {
      await database.check()
      proxy.fail({ kind: 'blackhole' })
      await assert.rejects(call, isOutage)
      // Neither is a connection made.
      await assert.rejects(call, isOutage)
      proxy.mend()
      await eventually(() =>
        database.check().then(
          () => true,
          () => false,
        ),
      )
    }
  })

  test('a transaction that is cut midway ends, and leaves nothing', async () => {
    const name = randomUUID()
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.accounts.create(name)
        proxy.fail({ kind: 'blackhole' })
        await tx.accounts.find(randomUUID())
      }),
      isOutage,
    )
    proxy.mend()
    await eventually(() =>
      database
        .check()
        .then(() => true)
        .catch(() => false),
    )
    const accounts = await database.accounts.list({ after: null, limit: 100 })
    assert.ok(!accounts.some((account) => account.name === name))
  })

  test('a statement that takes too long is ended by the server', async () => {
    const short = connectDatabase(url, { poolSize: 1, timeouts: { ...timeouts, statementMs: 200, silenceMs: 5000 } })
    const patient = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    after(() => Promise.all([short.close(), patient.close()]))
    const { id } = await patient.accounts.create('locked')
    await patient.transaction(async (tx) => {
      await tx.accounts.hold(id)
      await assert.rejects(() => short.accounts.hold(id), isOutage)
    })
  })

  test('a listener whose connection has died makes a new one', async () => {
    const notifications = listenToNotifications(url, timeouts)
    after(() => notifications.close())
    let woken = 0
    notifications.on('slots', () => woken++)
    // It wakes everybody when it is there, and again when it is back.
    await eventually(() => Promise.resolve(woken > 0))
    const before = woken
    proxy.fail({ kind: 'blackhole' })
    setTimeout(() => proxy.mend(), timeouts.silenceMs * 3)
    await eventually(() => Promise.resolve(woken > before))
  })
})

suite('an object store behind a network that swallows', async () => {
  const timeouts = { connectMs: 2000, silenceMs: 1000, workMs: 1500 }
  const { endpoint, bucket, accessKey, secretKey } = connection().s3
  const { proxy, url } = await proxyOf(endpoint)
  const config = { region: 'us-east-1', bucket, accessKey, secretKey }
  const storage = createStorage({ ...config, endpoint: url }, timeouts)
  const direct = createStorage({ ...config, endpoint })
  const key = `inline/test/${randomUUID()}/rows.jsonl`
  const body = Buffer.alloc(20 * megabyte, 'x')
  await direct.write(key, body)
  after(() => direct.remove([key]))

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
      proxy.fail({ kind: 'blackhole' })
      await assert.rejects(call, isOutage)
      proxy.mend()
      await eventually(() =>
        storage
          .check()
          .then(() => true)
          .catch(() => false),
      )
    })

  test('an object that stops midway ends its reader; one that is read slowly does not', async () => {
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
    cut.once('data', () => proxy.fail({ kind: 'blackhole' }))
    await assert.rejects(buffer(cut), isOutage)
    proxy.mend()
  })

  test('an upload that stops midway ends', async () => {
    async function* chunks() {
      for (let part = 0; part < 20; part++) {
        if (part === 12) proxy.fail({ kind: 'blackhole' })
        yield Buffer.alloc(megabyte, 'x')
      }
    }
    await assert.rejects(storage.writeStream(`${key}.2`, chunks()), isOutage)
    proxy.mend()
    await eventually(() =>
      storage
        .check()
        .then(() => true)
        .catch(() => false),
    )
    assert.equal(await storage.stat(`${key}.2`), null)
    await storage.abortStaleUploads(0)
  })
})
