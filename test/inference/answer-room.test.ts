import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createAnswerRoom } from '../../src/domain/answer-room.ts'
import { requestEmbeddings } from '../../src/inference/engine-client.ts'

test('an endless answer is dropped when its room is used up, and small answers fit in sequence', async () => {
  let isEndless = false
  const closed = Promise.withResolvers<void>()
  const engine = createServer((_, response) => {
    if (!isEndless) return void response.end(JSON.stringify({ data: [{ index: 0, embedding: [1] }] }))
    response.once('close', () => closed.resolve())
    const write = () => void (response.destroyed || (response.write(' '.repeat(1 << 16)), setImmediate(write)))
    write()
  }).listen(0, '127.0.0.1')
  await once(engine, 'listening')
  const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`
  const endpoint = { baseModel: 'tiny', generation: 1, instance: 'one', url, token: 'x' }
  const room = createAnswerRoom(1 << 20)
  const call = requestEmbeddings({ texts: ['a'], maxTokens: 9 }, room)
  const ask = () => call(endpoint, 'tiny', new AbortController().signal)
  assert.deepEqual((await ask()).vectors, [[1]])
  isEndless = true
  await assert.rejects(ask(), { code: 'invalid_input', message: /more than 1 MiB/ })
  await closed.promise
  isEndless = false
  assert.deepEqual((await ask()).vectors, [[1]])
  engine.close()
  engine.closeAllConnections()
})
