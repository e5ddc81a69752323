import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import express from 'express'
import { EventText, sendAnswer } from '../../../src/http/kit/respond.ts'

const rows = (count: number) => Array.from({ length: count }, (_, row) => ({ row, text: 'the same text' }))
const small = { answer: 'x'.repeat(900) }

async function* events() {
  yield `data: ${'x'.repeat(5000)}\n\n`
  // The stream stays open: what the client has by then was not held back.
  await new Promise(() => undefined)
}

async function* pages() {
  yield rows(150)
  yield rows(150)
}

const answers: Record<string, () => unknown> = {
  '/small': () => small,
  '/middle': () => rows(100),
  '/large': () => rows(50_000),
  '/pages': pages,
  '/events': () => new EventText(events()),
}

suite('compressed answers', async () => {
  const app = express()
  app.use((asked, response) =>
    sendAnswer(response, answers[asked.path]?.(), { turn: () => Promise.resolve(), hasTag: asked.path === '/middle' }),
  )
  const server = app.listen(0, '127.0.0.1')
  after(() => (server.closeAllConnections(), server.close()))
  await once(server, 'listening')

  async function get(path: string, headers: Record<string, string> = { 'accept-encoding': 'gzip, deflate' }) {
    const asked = request({ port: (server.address() as AddressInfo).port, path, headers }).end()
    const [response] = (await once(asked, 'response')) as [IncomingMessage]
    return response
  }
  const bytesOf = async (response: IncomingMessage) => Buffer.concat(await response.toArray())

  for (const path of ['/middle', '/large', '/pages'])
    test(`${path} comes in gzip to a client that takes it, as it is to others, and says what that depends on`, async () => {
      const [packed, plain] = [await get(path), await get(path, {})]
      const [bytes, text] = [await bytesOf(packed), (await bytesOf(plain)).toString()]
      assert.equal(gunzipSync(bytes).toString(), text)
      assert.ok(bytes.length < text.length / 5)
      assert.equal(plain.headers['content-encoding'], undefined)
      for (const { headers } of [packed, plain]) assert.match(headers.vary ?? '', /Accept-Encoding/)
    })

  test('a client that refuses gzip gets none', async () => {
    const refused = await get('/middle', { 'accept-encoding': 'gzip;q=0, identity' })
    assert.equal(refused.headers['content-encoding'], undefined)
    refused.resume()
  })

  test('a small answer stays as it is, in one packet with its headers', async () => {
    const response = await get('/small')
    assert.equal(response.headers['content-encoding'], undefined)
    assert.deepEqual(JSON.parse((await bytesOf(response)).toString()), small)
  })

  test('events are sent at once, never compressed', async () => {
    const response = await get('/events')
    assert.equal(response.headers['content-encoding'], undefined)
    const [first] = (await once(response, 'data')) as [Buffer]
    assert.match(first.toString(), /^data: x+/)
    response.destroy()
  })

  test('a client that names the tag of its answer gets 304 without a body, and no browser keeps the answer', async () => {
    const first = await get('/middle')
    first.resume()
    assert.equal(first.headers['cache-control'], 'no-store')
    const again = await get('/middle', { 'if-none-match': first.headers.etag ?? '' })
    assert.deepEqual([again.statusCode, (await bytesOf(again)).length], [304, 0])
    const other = await get('/middle', { 'if-none-match': 'W/"older"' })
    assert.equal(other.statusCode, 200)
    other.resume()
  })
})
