// Clients that hold a connection and send next to nothing; and those that are slow and alive.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../src/domain/service-error.ts'
import type { SlowBodyLimits } from '../../../src/http/kit/slow-body-guard.ts'
import { openBody, readBody } from '../../../src/http/kit/request-body.ts'
import { closeGracefully, listen } from '../../../src/http/kit/server.ts'
import { startPublic } from '../support.ts'

const quick: SlowBodyLimits = { silenceMs: 300, graceMs: 1200, minBytesPerSecond: 1000 }
/** A process of a busy machine may be silent for longer than `quick` allows. */
const patient: SlowBodyLimits = { ...quick, silenceMs: 60_000 }
const options = (limits: SlowBodyLimits) => ({ reserve: () => undefined, limits })
const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n'

async function start(app: RequestListener, headersTimeoutMs?: number) {
  const options = { host: '127.0.0.1', port: 0, ...(headersTimeoutMs === undefined ? {} : { headersTimeoutMs }) }
  const server = await listen(app, options)
  after(() => closeGracefully([server], 0))
  return (server.address() as AddressInfo).port
}

function talk(port: number) {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => (answer += chunk))
  socket.on('error', () => undefined)
  // Not events.once: it rejects when the server resets the connection, also where nobody awaits the answer.
  return { socket, answered: new Promise<string>((resolve) => socket.once('close', () => resolve(answer))) }
}

const ways = {
  'read whole': (request, limits) => readBody(request, 2_000_000, options(limits)),
  'read as it arrives': async (request, limits) => {
    let sizeBytes = 0
    for await (const chunk of openBody(request, 2_000_000, options(limits))) sizeBytes += chunk.length
    return { length: sizeBytes }
  },
} satisfies Record<string, (request: IncomingMessage, limits: SlowBodyLimits) => Promise<{ length: number }>>

for (const [name, read] of Object.entries(ways)) {
  const app =
    (onCode: (code: string) => void, limits = quick): RequestListener =>
    (request, response) =>
      void once(request, 'readable')
        .then(() => read(request, limits))
        .then(({ length }) => String(length))
        .catch((error: unknown) => (error instanceof ServiceError ? error.code : 'unexpected'))
        .then((text) => {
          onCode(text)
          response.setHeader('connection', 'close').end(text)
        })

  test(`a body, ${name}, ends when its client falls silent`, async () => {
    const { socket, answered } = talk(await start(app(() => undefined)))
    socket.write(`${head}{`)
    assert.match(await answered, /request_timeout$/)
  })

  // Asks the server, because a client that writes into a closed connection may lose the answer that it has not read yet.
  test(`a body, ${name}, ends when it only trickles`, async () => {
    const outcome = Promise.withResolvers<string>()
    const { socket } = talk(await start(app(outcome.resolve)))
    socket.write(head)
    const trickle = setInterval(() => socket.write(' '), 20)
    try {
      assert.equal(await outcome.promise, 'request_timeout')
    } finally {
      clearInterval(trickle)
    }
  })

  test(`a body, ${name}, ends when it came fast and then trickles`, async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { socket } = talk(await start(app(resolve)))
    socket.write(head + ' '.repeat(900))
    const trickle = setInterval(() => socket.write(' '), 20)
    try {
      assert.equal(await promise, 'request_timeout')
    } finally {
      clearInterval(trickle)
    }
  })

  test(`a body, ${name}, may take its time while it moves`, async () => {
    const { socket, answered } = talk(await start(app(() => undefined, patient)))
    // These bytes allow more time than the client then takes.
    socket.write(head + ' '.repeat(100_000))
    await sleep(patient.graceMs * 1.5)
    socket.write(' '.repeat(900_000))
    assert.match(await answered, /1000000$/)
  })
}

test('time that we take ourselves is not counted', async () => {
  const port = await start((request, response) => {
    const read = async () => {
      let sizeBytes = 0
      for await (const chunk of openBody(request, 2_000_000, options(patient))) {
        if (sizeBytes === 0) await sleep(patient.graceMs * 2)
        sizeBytes += chunk.length
      }
      return String(sizeBytes)
    }
    void read().then((text) => response.setHeader('connection', 'close').end(text))
  })
  const { socket, answered } = talk(port)
  socket.write(head + ' '.repeat(1_000_000))
  assert.match(await answered, /1000000$/)
})

test('headers that do not come are 408', async () => {
  const port = await start(() => undefined, 200)
  for (const sent of ['', 'GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ']) {
    const { socket, answered } = talk(port)
    socket.write(sent)
    const answer = await answered
    assert.match(answer, /^HTTP\/1\.1 408 /)
    assert.equal(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).status, 408)
  }
})

test('a body behind a GET is read off before the answer', async () => {
  const { port } = await startPublic()
  const { socket, answered } = talk(port)
  const rest = ' '.repeat(500_000)
  socket.write(`GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n${rest}`)
  socket.write(`${rest}GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
  assert.equal((await answered).match(/HTTP\/1\.1 200 /g)?.length, 2)
})
