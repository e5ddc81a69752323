// Bodies that are declared or sent and not finished. Each test has its own edge with little memory for bodies.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { makeApiKey, parseApiKey } from '../../../src/domain/identifiers.ts'
import { scopes } from '../../../src/domain/scopes.ts'
import { createBodyMemory } from '../../../src/http/edge/body-memory.ts'
import { until } from '../../support/eventually.ts'
import { startPublic } from '../support.ts'

const mebibyte = 1024 * 1024
const keys = [makeApiKey(), makeApiKey(), makeApiKey()] as const
const [busy, other, third] = keys
const path = '/v1/completions'

/** Each key is of an account of its own. Completions wait until `answer` is called. */
async function startEdge(bodyMemoryBytes: number) {
  const answering = Promise.withResolvers<void>()
  const findLiveApiKey = (id: string) => {
    const parsed = keys.map((key) => parseApiKey(key)).find((key) => key?.id === id)
    return Promise.resolve(parsed && { ...parsed, accountId: `account of ${id}`, scopes, lastUsedAt: new Date() })
  }
  const complete = async () => {
    await answering.promise
    return { outputs: [{ output: 'A' }], finishReasons: ['stop'] }
  }
  const edge = await startPublic(
    { database: { accounts: { findLiveApiKey, noteKeyUse: () => Promise.resolve() } }, inference: { complete } },
    { bodyMemoryBytes },
  )
  return {
    answer: () => answering.resolve(),
    send: (key: string, sizeBytes: number, headers: Record<string, string> = {}) =>
      edge.call('POST', path, {
        key,
        body: JSON.stringify({ model_name: 'tiny', prompt: 'x'.repeat(sizeBytes - 40) }),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    /** Sends the headers, and no more than `sent` of the body. */
    begin: (key: string, framing: string, sent = '') => {
      const socket = connect(edge.port, '127.0.0.1')
      after(() => socket.destroy())
      const answered = new Promise<string>((resolve) => socket.once('data', (chunk) => resolve(chunk.toString())))
      socket.on('error', () => undefined)
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n${sent}`,
      )
      return { socket, answered }
    },
  }
}

const declared = (sizeBytes: number) => `Content-Length: ${sizeBytes}`

test('a declared body holds its memory before it is sent, and only its own account is refused for it', async () => {
  const { begin, send, answer } = await startEdge(8 * mebibyte)
  answer()
  const unsent = [begin(busy, declared(2 * mebibyte)), begin(busy, declared(2 * mebibyte))]
  await until('the account is refused', async () => (await send(busy, mebibyte)).status === 429)
  const { json, headers } = await send(busy, mebibyte)
  assert.equal(json.code, 'rate_limited')
  assert.match(
    json.detail,
    /hold 4 MB of bodies, and this one has 1 MB\. .* now 4 MB\. Wait until a request is answered\./,
  )
  assert.ok(Number(headers['retry-after']) > 0)
  // Others find room, and so do the account's own single prompts.
  assert.equal((await send(other, 3 * mebibyte)).status, 200)
  assert.equal((await send(third, 3 * mebibyte)).status, 200)
  assert.equal((await send(busy, 1000)).status, 200)
  for (const { socket } of unsent) socket.destroy()
  await until('the memory is free again', async () => (await send(busy, 3 * mebibyte)).status === 200)
})

test('a body without a declared length holds the bytes received so far', async () => {
  const { begin, send, answer } = await startEdge(8 * mebibyte)
  answer()
  const piece = (sizeBytes: number) => `${sizeBytes.toString(16)}\r\n${' '.repeat(sizeBytes)}\r\n`
  const growing = begin(busy, 'Transfer-Encoding: chunked', piece(3 * mebibyte))
  await until('the account is refused', async () => (await send(busy, mebibyte)).status === 429)
  // 4 MB are free. The body itself is refused once it needs more.
  growing.socket.write(piece(3 * mebibyte))
  growing.socket.write('0\r\n\r\n')
  assert.match(await growing.answered, /^HTTP\/1\.1 503 /)
  assert.equal((await send(busy, 3 * mebibyte)).status, 200)
})

test('a body holds its memory until the answer is sent', async () => {
  const { send, answer } = await startEdge(8 * mebibyte)
  const running = send(busy, 3 * mebibyte)
  await until('the account is refused', async () => (await send(busy, 3 * mebibyte)).status === 429)
  answer()
  assert.equal((await running).status, 200)
  await until('the memory is free again', async () => (await send(busy, 3 * mebibyte)).status === 200)
})

test('a request without a valid key holds no memory', async () => {
  const { begin, send, answer } = await startEdge(4 * mebibyte)
  answer()
  const unknown = Array.from({ length: 20 }, () => begin(makeApiKey(), declared(mebibyte), ' '))
  // The answer waits for the rest of the body, so nothing tells when these requests have been looked at.
  for (let round = 0; round < 20; round++) assert.equal((await send(busy, 1.5 * mebibyte)).status, 200)
  for (const { socket } of unknown) socket.destroy()
})

test('each holder may have as much as is still free', () => {
  const memory = createBodyMemory(8 * mebibyte)
  const [a, b, c] = [memory.open('a'), memory.open('b'), memory.open('c')]
  a.growTo(4 * mebibyte)
  assert.throws(() => memory.open('a').growTo(mebibyte), { code: 'rate_limited' })
  b.growTo(4 * mebibyte - 1)
  assert.throws(() => c.growTo(mebibyte), { code: 'unavailable', message: /running requests fill the 8 MB/ })
  a.release()
  a.release()
  c.growTo(2 * mebibyte)
  c.growTo(mebibyte)
  assert.throws(() => memory.open('c').growTo(mebibyte), { code: 'rate_limited' })
  for (const share of [b, c]) share.release()
  for (let round = 0; round < 3; round++) memory.open('a').growTo(mebibyte)
})
