import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createApiHealth } from '../../src/services/api-health.ts'

test('an API that is not ready, or not there, has been sound for no time', async () => {
  let status = 503
  const server = createServer((_request, response) => response.writeHead(status).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  assert.equal(await createApiHealth(url).soundForMs(), 0)
  status = 200
  const health = createApiHealth(url)
  const first = await health.soundForMs()
  assert.ok((await health.soundForMs()) >= first)
  server.close()
  server.closeAllConnections()
  assert.equal(await createApiHealth(url).soundForMs(), 0)
})
