import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { describeError } from '../../src/http/kit/problem.ts'
import { startSmallStore } from './support/small-store.ts'

const busy =
  (status: number): RequestListener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/xml' })
    response.end('<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>')
  }

async function* pieces() {
  yield Buffer.from('a row')
}

test('a store that has no time is an outage: callers are told to come again', async (t) => {
  const { storage: gateway } = await startSmallStore(t, busy(502))
  const { storage: store } = await startSmallStore(t, busy(503))
  const calls: Promise<unknown>[] = [gateway.stat('k'), gateway.read('k'), store.write('k', Buffer.from('x'))]
  calls.push(store.writeStream('k', pieces()))
  for (const call of await Promise.allSettled(calls)) {
    assert.equal(call.status, 'rejected')
    const { status, headers } = describeError(call.reason, { headers: {} })
    assert.equal(status, 503)
    assert.ok(Number(headers['Retry-After']) > 0)
  }
})

test('a busy store costs no connections', async (t) => {
  const { storage, countConnections } = await startSmallStore(t, busy(503))
  const timesAsked = 3
  for (let asked = 0; asked < timesAsked; asked++) await assert.rejects(storage.read('k'))
  // Each call is two requests: left unread, they would hold a connection each.
  assert.ok((await countConnections()) < timesAsked)
})
