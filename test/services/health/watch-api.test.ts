import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { watchApiHealth } from '../../../src/services/health/watch-api.ts'
import { until } from '../../support/eventually.ts'

const everyMs = 20

let status = 200
let refused = 0
const server = createServer((_request, response) => {
  if (status === 503) refused += 1
  response.writeHead(status).end()
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => {
  server.close()
  server.closeAllConnections()
})
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

test('an outage ends the soundness also when no request asks', async () => {
  const health = watchApiHealth(url, everyMs)
  await until('it is sound', () => health.soundForMs() > 10 * everyMs)
  status = 503
  // The second look comes once the first is over.
  await until('it was refused twice', () => refused >= 2)
  status = 200
  const mendedAt = performance.now()
  await until('it is sound again', () => health.soundForMs() > 0)
  assert.ok(health.soundForMs() <= performance.now() - mendedAt)
})

test('an API that is not ready, or not there, has been sound for no time', async () => {
  const health = watchApiHealth(url, everyMs)
  await until('it is sound again', () => health.soundForMs() > 0)
  status = 503
  await until('it is not', () => health.soundForMs() === 0)
  const away = watchApiHealth('http://127.0.0.1:1', everyMs)
  await sleep(5 * everyMs)
  assert.equal(away.soundForMs(), 0)
})
