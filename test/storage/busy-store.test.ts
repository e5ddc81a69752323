import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { refusalOf } from '../../src/http/edge/problem.ts'
import { createStorage } from '../../src/storage/storage.ts'

/** A store, or a proxy before it, that has no time. */
async function startBusyStore(t: TestContext, status: number) {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(status, { 'content-type': 'application/xml' })
    response.end('<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const storage = createStorage({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    bucket: 'anneal',
    accessKey: 'key',
    secretKey: 'secret',
  })
  const countConnections: () => Promise<number> = promisify(server.getConnections.bind(server))
  return { storage, countConnections }
}

async function* pieces() {
  yield Buffer.from('a row')
}

test('a store that has no time is an outage: callers are told to come again', async (t) => {
  const { storage: gateway } = await startBusyStore(t, 502)
  const { storage: store } = await startBusyStore(t, 503)
  const calls: Promise<unknown>[] = [gateway.stat('k'), gateway.read('k'), store.write('k', Buffer.from('x'))]
  calls.push(store.writeStream('k', pieces()))
  for (const call of await Promise.allSettled(calls)) {
    assert.equal(call.status, 'rejected')
    const { status, headers } = refusalOf(call.reason, { headers: {} })
    assert.equal(status, 503)
    assert.ok(Number(headers['Retry-After']) > 0)
  }
})

test('a busy store costs no connections', async (t) => {
  const { storage, countConnections } = await startBusyStore(t, 503)
  const askedOnce = 3
  for (let asked = 0; asked < askedOnce; asked++) await assert.rejects(storage.read('k'))
  // Each call is two requests: left unread, they would hold a connection each.
  assert.ok((await countConnections()) < askedOnce)
})
