// A grader's process in a pod, at the end of a connection of its own. serve_graders.py is the other end.
import { request } from 'node:http'
import type { Duplex } from 'node:stream'
import { createTalk, processEnded, wasStopped, type GraderProcess } from './grader-process.ts'

const port = 8000
const lengthBytes = 4
/** The most that the pod puts into a frame. */
const maxFrameBytes = 32_768
const endBytes = 100
/** A pod that is gone drops what is sent to it, and the kernel would try for minutes. */
const connectMs = 5000
const keepAliveMs = 10_000
const podEnded = "The grader's pod ended."

type Asked = { address: string; token: string; signal: AbortSignal }

/** Waits for the turn of the connection. @throws Error where the pod does not answer, and the signal's reason */
export async function openPodProcess(asked: Asked): Promise<Pick<GraderProcess, 'ask' | 'end'>> {
  const { socket, head } = await connect(asked)
  const talk = createTalk({ write: (line) => socket.write(line), end: () => socket.destroy() })
  let pending = head
  let isEnding = false

  function read(piece: Buffer) {
    pending = Buffer.concat([pending, piece])
    while (!isEnding && pending.length >= lengthBytes) {
      const length = pending.readUInt32BE()
      if (length > maxFrameBytes) return talk.leave(podEnded, true)
      if (pending.length < lengthBytes + length) return
      if (length > 0) talk.take(pending.subarray(lengthBytes, lengthBytes + length))
      else isEnding = true
      pending = pending.subarray(lengthBytes + length)
    }
  }

  socket.on('data', read)
  socket.on('error', () => undefined)
  socket.once('close', () => {
    if (isEnding) talk.leave(processEnded(pending.toString('utf8', 0, endBytes)))
    else talk.leave(podEnded, true)
  })
  read(Buffer.alloc(0))
  return { ask: talk.ask, end: () => talk.leave(wasStopped) }
}

function connect({ address, token, signal }: Asked): Promise<{ socket: Duplex; head: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ socket: Duplex; head: Buffer }>()
  const headers = { Connection: 'Upgrade', Upgrade: 'anneal-grader', Authorization: `Bearer ${token}` }
  const sent = request({ host: address, port, headers, signal })
  sent.once('socket', (socket) => {
    // While the connection waits for its turn, this alone tells that the pod's node is gone.
    socket.setKeepAlive(true, keepAliveMs)
    if (!socket.connecting) return
    const late = setTimeout(() => sent.destroy(new Error('The pod of the grader cannot be reached.')), connectMs)
    for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(late))
  })
  sent.once('upgrade', (_response, socket, head) => resolve({ socket, head }))
  sent.once('response', (response) => {
    response.resume()
    reject(new Error(`The pod of the grader answered with status ${response.statusCode}.`))
  })
  sent.once('error', reject)
  sent.end()
  return promise
}
