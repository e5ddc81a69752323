import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startFaultyLink } from '../../support/faulty-link.ts'

suite('a link that can fail', async () => {
  const echo = createServer((socket) => socket.on('error', () => undefined).pipe(socket)).listen(0, '127.0.0.1')
  await once(echo, 'listening')
  const link = await startFaultyLink({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port })
  after(() => {
    link.close()
    echo.close()
  })

  async function talk() {
    const socket = connect(link.port, '127.0.0.1').on('error', () => undefined)
    await once(socket, 'connect')
    let heard = ''
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString()))
    return { socket, heard: () => heard }
  }

  const closed = (socket: Socket) =>
    new Promise<void>((resolve) => {
      if (socket.closed) resolve()
      socket.once('close', () => resolve())
    })

  async function hears({ heard }: Awaited<ReturnType<typeof talk>>, text: string) {
    for (const deadline = Date.now() + 5000; heard() !== text && Date.now() < deadline;) await sleep(5)
    assert.equal(heard(), text)
  }

  test('passes all bytes on, and the end', async () => {
    const one = await talk()
    one.socket.end('abc')
    await hears(one, 'abc')
    await closed(one.socket)
  })

  test('holds back bytes in a blackhole, on old and new connections, until it is mended', async () => {
    const old = await talk()
    link.fail({ kind: 'blackhole' })
    const young = await talk()
    old.socket.write('a')
    old.socket.write('b')
    young.socket.write('c')
    await sleep(100)
    assert.equal(old.heard() + young.heard(), '')
    link.mend()
    await Promise.all([hears(old, 'ab'), hears(young, 'c')])
  })

  test('is late with each piece, in order', async () => {
    const one = await talk()
    link.fail({ kind: 'delay', ms: 50 })
    const startMs = performance.now()
    one.socket.write('a')
    await hears(one, 'a')
    assert.ok(performance.now() - startMs >= 90)
    link.mend()
  })

  test('resets open and new connections', async () => {
    const old = await talk()
    link.fail({ kind: 'reset' })
    await closed(old.socket)
    const young = connect(link.port, '127.0.0.1').on('error', () => undefined)
    await closed(young)
    link.mend()
    const next = await talk()
    next.socket.write('a')
    await hears(next, 'a')
  })
})
