// How slowly a body may arrive. A line that is slow but alive passes; a client that is gone, or sends just enough to
// hold a connection, ends.
import { ServiceError } from '../../domain/service-error.ts'

export type SlowBodyLimits = {
  /** Without a single byte. */
  silenceMs: number
  /** Below this on the whole, once `graceMs` have been spent waiting. */
  minBytesPerSecond: number
  graceMs: number
}

export const slowBodyLimits: SlowBodyLimits = { silenceMs: 60_000, minBytesPerSecond: 1000, graceMs: 60_000 }

/**
 * Counts only the time spent waiting for the client, not that of our own stores. Between `waits` and `arrived` it may
 * call `onLate`, once.
 */
export function guardSlowBody({ silenceMs, minBytesPerSecond, graceMs }: SlowBodyLimits, onLate: () => void) {
  let waitedMs = 0
  let receivedBytes = 0
  let waitsSince: number | null = null
  let timer: NodeJS.Timeout | undefined

  function look() {
    if (waitsSince === null) return again(silenceMs)
    const sinceMs = performance.now() - waitsSince
    const allowedMs = graceMs + (receivedBytes / minBytesPerSecond) * 1000 - waitedMs
    const leftMs = Math.min(silenceMs, allowedMs) - sinceMs
    if (leftMs <= 0) onLate()
    else again(leftMs)
  }
  // One timer for many chunks: it looks at what has happened meanwhile.
  function again(afterMs: number) {
    timer = setTimeout(look, Math.ceil(afterMs))
  }

  return {
    waits() {
      waitsSince = performance.now()
      if (!timer) look()
    },
    arrived(sizeBytes: number) {
      if (waitsSince !== null) waitedMs += performance.now() - waitsSince
      waitsSince = null
      receivedBytes += sizeBytes
    },
    stop: () => clearTimeout(timer),
  }
}

export const bodyTimedOut = () => new ServiceError('request_timeout', 'The body of the request did not arrive in time.')
