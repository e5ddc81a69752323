import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { createStorage } from '../../../src/storage/storage.ts'

/** An object store, or a proxy before it, whose every answer the test says. */
export async function startSmallStore(t: TestContext, answer: RequestListener) {
  const server = createServer((request, response) => {
    request.resume()
    answer(request, response)
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
