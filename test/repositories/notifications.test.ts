import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { listenToNotifications } from '../../src/repositories/notifications.ts'

const message = (type: string, body: Buffer) => {
  const length = Buffer.alloc(4)
  length.writeInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}
const ready = message('Z', Buffer.from('I'))
const welcome = Buffer.concat([message('R', Buffer.alloc(4)), ready])
const refusal = Buffer.concat([message('E', Buffer.from('SERROR\0C25006\0Mcannot LISTEN during recovery\0\0')), ready])

test('a connection that may not listen, as to a standby, is closed before the next', async (t) => {
  const open = new Set<Socket>()
  const mostOpen = { count: 0 }
  const standby = createServer((socket) => {
    open.add(socket)
    mostOpen.count = Math.max(mostOpen.count, open.size)
    socket.once('data', () => {
      socket.write(welcome)
      socket.on('data', (bytes) => bytes[0] === 'Q'.charCodeAt(0) && socket.write(refusal))
    })
    socket.on('error', () => undefined).once('close', () => open.delete(socket))
  }).listen(0, '127.0.0.1')
  await once(standby, 'listening')
  const { port } = standby.address() as AddressInfo
  const notifications = listenToNotifications(`postgres://nobody@127.0.0.1:${port}/none`)
  t.after(async () => {
    await notifications.close()
    for (const socket of open) socket.destroy()
    standby.close()
  })
  for (let tries = 0; tries < 3; tries++) await once(standby, 'connection')
  assert.equal(mostOpen.count, 1)
})
