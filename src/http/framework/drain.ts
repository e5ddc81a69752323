// What to do about a body that nobody will read, so that its sender comes to reading our answer.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What an ordinary client may still be sending when we already know the answer. */
const drainLimitBytes = 64 * 1024 * 1024
const drainTimeoutMs = 30_000
/** From the answer until the connection is cut. */
const lingerMs = 10_000

/** Reads off what is still coming. @returns false when it is too much, or too slow: then `linger` after the answer */
export async function drain(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return true
  if (request.destroyed) return false
  const isOver = await discard(request, { limitBytes: drainLimitBytes, timeoutMs: drainTimeoutMs })
  return isOver && request.complete
}

/**
 * After an answer that was written before the body had ended. Closing at once would reset the connection under a client that is
 * still sending, and the answer could be lost with it: so ours is the only half that closes, until the client has closed its own.
 */
export async function linger(request: IncomingMessage, response: ServerResponse) {
  request.socket.end()
  await discard(request, { limitBytes: Number.POSITIVE_INFINITY, timeoutMs: lingerMs })
  response.end()
  request.socket.destroy()
}

/** @returns true when the body or the connection has ended */
function discard(request: IncomingMessage, { limitBytes, timeoutMs }: { limitBytes: number; timeoutMs: number }) {
  if (request.destroyed || request.complete) return Promise.resolve(true)
  return new Promise<boolean>((resolve) => {
    let sizeBytes = 0
    const finish = (isOver: boolean) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onOver).off('close', onOver).off('error', onOver)
      if (!isOver) request.pause()
      resolve(isOver)
    }
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > limitBytes) finish(false)
    }
    const onOver = () => finish(true)
    const timer = setTimeout(() => finish(false), timeoutMs)
    request.on('data', onData).on('end', onOver).on('close', onOver).on('error', onOver)
    request.resume()
  })
}
