// A TCP proxy that fails when told to. As on a real network, bytes that were held back arrive once it works again, in
// order, and neither side hears that the other has hung up before that.
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { Transform, type TransformCallback } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

export type LinkFault = { kind: 'delay'; ms: number } | { kind: 'reset' } | { kind: 'blackhole' }

export type FaultyLink = Awaited<ReturnType<typeof startFaultyLink>>

/** @returns a link to the server of the URL, and the URL through it */
export async function startLinkTo(url: string) {
  const { hostname, port } = new URL(url)
  const link = await startFaultyLink({ host: hostname, port: Number(port) })
  return { link, url: Object.assign(new URL(url), { hostname: '127.0.0.1', port: link.port }).href }
}

export async function startFaultyLink(target: { host: string; port: number }) {
  const sockets = new Set<Socket>()
  let fault: LinkFault | null = null
  let mended = Promise.withResolvers<void>()
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    if (fault?.kind === 'reset') return void incoming.resetAndDestroy()
    const outgoing = connect({ ...target, allowHalfOpen: true })
    join(incoming, outgoing)
    join(outgoing, incoming)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    fail(next: LinkFault) {
      fault = next
      if (next.kind === 'reset') for (const socket of sockets) socket.resetAndDestroy()
    },
    mend() {
      fault = null
      mended.resolve()
      mended = Promise.withResolvers()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }

  function join(from: Socket, to: Socket) {
    sockets.add(from)
    const held = new Transform({ transform: (chunk, _, passOn) => void hold(chunk, passOn) })
    from.pipe(held).pipe(to)
    from.on('error', () => undefined)
    from.on('close', () => {
      sockets.delete(from)
      // One that has said its last word ends the other through the pipe.
      if (!from.readableEnded) void passes().then(() => to.destroy())
    })
  }

  async function hold(chunk: Buffer, passOn: TransformCallback) {
    await passes()
    passOn(null, chunk)
  }

  async function passes() {
    while (fault?.kind === 'blackhole') await mended.promise
    if (fault?.kind === 'delay') await sleep(fault.ms)
  }
}
