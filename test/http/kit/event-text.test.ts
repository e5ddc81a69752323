import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { EventText, sendAnswer } from '../../../src/http/kit/respond.ts'
import { until } from '../../support/eventually.ts'

const piece = Buffer.alloc(256 * 1024, 'x')

/** An endless stream, which counts what is taken of it. */
async function openStream() {
  const seen = { taken: 0, isLeft: false }
  async function* pieces() {
    try {
      for (;;) {
        seen.taken++
        yield piece
      }
    } finally {
      seen.isLeft = true
    }
  }
  const server = createServer((_request, response) => {
    void sendAnswer(response, new EventText(pieces(), { slowClientMs: 50 }), { turn: () => Promise.resolve() })
  })
  after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  after(() => client.destroy())
  await once(client, 'connect')
  return { seen, client }
}

test('a client that reads nothing is cut, and costs no more memory than the buffers of its connection', async () => {
  const { seen, client } = await openStream()
  client.pause()
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until('the stream is left', () => seen.isLeft)
  assert.ok(seen.taken * piece.length < 64 * 1024 * 1024, `${seen.taken} pieces`)
})

test('a client that leaves ends the stream', async () => {
  const { seen, client } = await openStream()
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(client, 'data')
  client.destroy()
  await until('the stream is left', () => seen.isLeft)
})

test('a HEAD request gets the headers only', async () => {
  const { seen, client } = await openStream()
  client.write('HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  const [headers] = (await once(client, 'data')) as [Buffer]
  assert.match(headers.toString(), /^HTTP\/1\.1 200 OK\r\n.*content-type: text\/event-stream/is)
  await until('the stream is left', () => seen.isLeft)
  assert.equal(seen.taken, 1)
})
