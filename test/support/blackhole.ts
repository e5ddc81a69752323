// A TCP proxy that can swallow: connections stay open, new ones are accepted, and nothing comes through.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export async function startBlackhole(target: { host: string; port: number }) {
  const sockets = new Set<Socket>()
  let swallows = false
  const server = createServer((incoming) => {
    const outgoing = connect(target)
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk: Buffer) => void (swallows || to.write(chunk)))
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        if (!swallows) to.end()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    swallow: () => (swallows = true),
    /** For connections made from now on: those from before have lost bytes. */
    restore: () => (swallows = false),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
