import { connect, createServer, type Server } from 'node:net'
import { once } from 'node:events'

export function answersTcp(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1_000 })
    const end = (answered: boolean) => () => {
      socket.destroy()
      resolve(answered)
    }
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false))
  })
}

/** Takes connections at `host` and passes them on to the same port of this machine's own loopback. */
export async function forward(host: string, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (outer) => {
    const inner = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    outer.on('error', () => inner.destroy())
    inner.on('error', () => outer.destroy())
    outer.on('close', () => inner.destroy())
    inner.on('close', () => outer.destroy())
    outer.pipe(inner).pipe(outer)
  }).listen(port, host)
  await once(server, 'listening')
  return server
}
