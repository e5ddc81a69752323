import assert from 'node:assert/strict'
import { Agent, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { closeGracefully, listen } from '../../src/http/kit/server.ts'
import { patienceMs } from '../support/eventually.ts'
import { call } from './support.ts'

const host = '127.0.0.1'
const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port

test('a port in use is one sentence', async () => {
  const first = await listen(() => undefined, { host, port: 0 })
  await assert.rejects(
    listen(() => undefined, { host, port: portOf(first) }),
    { message: /^Port \d+ is in use: .*\.$/ },
  )
  await closeGracefully([first], 0)
})

test('closing lets a running request finish, and does not wait for idle connections', async () => {
  const { promise: started, resolve: start } = Promise.withResolvers<void>()
  const { promise: finish, resolve: end } = Promise.withResolvers<void>()
  const server = await listen(
    (request, response) => {
      if (request.url === '/idle') return response.end()
      start()
      void finish.then(() => response.end('whole'))
    },
    { host, port: 0 },
  )
  const port = portOf(server)
  const agent = new Agent({ keepAlive: true })
  await new Promise((resolve) =>
    get({ port, path: '/idle', agent }, (response) => response.resume().on('end', resolve)),
  )
  const running = call(port, 'GET', '/slow', {})
  await started
  // Longer than the test may take: only the end of the request can end the wait.
  const closing = closeGracefully([server], 2 * patienceMs)
  await assert.rejects(call(port, 'GET', '/idle', {}))
  end()
  assert.equal((await running).text, 'whole')
  await closing
  agent.destroy()
})

test('closing cuts requests that do not finish in time', async () => {
  const server = await listen(() => undefined, { host, port: 0 })
  const running = assert.rejects(call(portOf(server), 'GET', '/', {}))
  await new Promise((resolve) => server.once('request', resolve))
  await closeGracefully([server], 50)
  await running
})
