// Handles a body that nobody will read, so that its sender still gets to read our answer.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Enough for what an ordinary client is still sending when we already know the answer. */
const drainLimitBytes = 64 * 1024 * 1024
const drainTimeoutMs = 30_000
/** Time from the answer until the connection is cut. */
const lingerMs = 10_000

/** Discards the rest of the body. @returns false when the rest is too long or too slow: then answer and call `linger` */
export async function drain(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return true
  if (request.destroyed) return false
  const hasEnded = await discard(request, { limitBytes: drainLimitBytes, timeoutMs: drainTimeoutMs })
  return hasEnded && request.complete
}

/**
 * Closes the connection after an answer that was written before the body had ended. Closing at once would reset the connection
 * under a client that is still sending, and the client could lose the answer. So we close our half and wait for the client.
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
    const finish = (hasEnded: boolean) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onEnd).off('error', onEnd)
      if (!hasEnded) request.pause()
      resolve(hasEnded)
    }
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > limitBytes) finish(false)
    }
    const onEnd = () => finish(true)
    const timer = setTimeout(() => finish(false), timeoutMs)
    request.on('data', onData).on('end', onEnd).on('close', onEnd).on('error', onEnd)
    request.resume()
  })
}
