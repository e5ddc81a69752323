// Authentication of a request, and the counts of the rate limits.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeApiKey, parseApiKey } from '../../../src/domain/identifiers.ts'
import { until } from '../../support/eventually.ts'
import { accountId, apiKey, startPublic, usedLater } from '../support.ts'

const path = '/v1/get-upload-base-path'

async function counting(database: Record<string, unknown> = {}) {
  const failures: string[] = []
  const seen = { running: 0, begun: 0 }
  const limits = {
    beginRequest() {
      seen.running++
      seen.begun++
      return () => seen.running--
    },
    countFailedAuthentication: (network: string) => Promise.resolve(void failures.push(network)),
  }
  const edge = await startPublic({ limits, database }, { trustedProxies: ['loopback'] })
  return { edge, failures, seen }
}

test('only a key that is wrong counts against an address; an IPv6 host is known by its network', async () => {
  const { edge, failures } = await counting()
  const send = (key: string | null, address: string) =>
    edge.call('GET', path, { key, headers: { 'x-forwarded-for': address } })
  assert.equal((await send(apiKey, '10.0.0.1')).status, 200)
  assert.equal((await send(null, '10.0.0.2')).status, 401)
  assert.deepEqual(failures, [])
  for (const address of [
    '10.0.0.3',
    '::ffff:10.0.0.4',
    '2001:DB8:0:7::1',
    '2001:db8::7:0:0:0:9',
    '2001:db8:0:7:1:2:3:4',
  ])
    assert.equal((await send(makeApiKey(), address)).status, 401)
  assert.equal((await send('not-a-key', '10.0.0.5')).status, 401)
  assert.deepEqual(failures, [
    '10.0.0.3',
    '10.0.0.4',
    '2001:db8:0:7::/64',
    '2001:db8:0:7::/64',
    '2001:db8:0:7::/64',
    '10.0.0.5',
  ])
})

test('a forwarded address counts only when its proxy is trusted', async () => {
  const failures: string[] = []
  const limits = {
    beginRequest: () => () => undefined,
    countFailedAuthentication: (network: string) => Promise.resolve(void failures.push(network)),
  }
  const edge = await startPublic({ limits })
  await edge.call('GET', path, { key: makeApiKey(), headers: { 'x-forwarded-for': '10.0.0.9' } })
  assert.deepEqual(failures, ['127.0.0.1'])
})

test('a pod behind a trusted proxy, or beside it, cannot choose its address', async () => {
  const failures: string[] = []
  const limits = {
    beginRequest: () => () => undefined,
    countFailedAuthentication: (network: string) => Promise.resolve(void failures.push(network)),
  }
  const forged = { key: makeApiKey(), headers: { 'x-forwarded-for': '203.0.113.1' } }
  // The proxy appends the address of the pod to what the pod has sent.
  const passedOn = { key: makeApiKey(), headers: { 'x-forwarded-for': '203.0.113.1, 10.244.1.7' } }
  await (await startPublic({ limits }, { trustedProxies: ['10.30.0.10', '10.30.0.11'] })).call('GET', path, forged)
  await (await startPublic({ limits }, { trustedProxies: ['127.0.0.1'] })).call('GET', path, passedOn)
  assert.deepEqual(failures, ['127.0.0.1', '10.244.1.7'])
})

test('a request ends for its key also when the client leaves while the key is looked up', async () => {
  const looked = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const { edge, seen } = await counting({
    accounts: {
      async findLiveApiKey(id: string) {
        looked.resolve()
        await left.promise
        const record = { id, accountId, secretHash: parseApiKey(apiKey)?.secretHash, scopes: ['data'] }
        return { ...record, expiresAt: null, lastUsedAt: usedLater }
      },
    },
  })
  const socket = connect(edge.port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`)
  await looked.promise
  socket.destroy()
  // The server has to learn that the client left before it finds the key.
  await sleep(200)
  left.resolve()
  await until('the request has ended', () => seen.begun === 1 && seen.running === 0)
})
