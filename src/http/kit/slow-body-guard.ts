// Ends requests whose body arrives too slowly. A slow connection that keeps sending passes; a client that is gone, or that
// sends only enough to hold the connection and its memory, does not. So a body of n bytes has at most
// `graceMs` + n / `minBytesPerSecond`.
import { ServiceError } from '../../domain/service-error.ts'

export type SlowBodyLimits = {
  /** The longest time without a single byte. */
  silenceMs: number
  /** The least average rate, required once `graceMs` have been spent waiting. */
  minBytesPerSecond: number
  graceMs: number
}

export const slowBodyLimits: SlowBodyLimits = { silenceMs: 60_000, minBytesPerSecond: 32 * 1024, graceMs: 60_000 }

/**
 * Counts only the time spent waiting for the client, not the time that our own stores take.
 * Calls `onLate` at most once, between `waits` and `arrived`.
 */
export function guardSlowBody({ silenceMs, minBytesPerSecond, graceMs }: SlowBodyLimits, onLate: () => void) {
  let waitedMs = 0
  let receivedBytes = 0
  let waitsSince: number | null = null
  let timer: NodeJS.Timeout | undefined

  function check() {
    if (waitsSince === null) return checkAfter(silenceMs)
    const sinceMs = performance.now() - waitsSince
    const allowedMs = graceMs + (receivedBytes / minBytesPerSecond) * 1000 - waitedMs
    const leftMs = Math.min(silenceMs, allowedMs) - sinceMs
    if (leftMs <= 0) onLate()
    else checkAfter(leftMs)
  }
  // One timer serves many chunks, because resetting a timer for each of them costs more.
  function checkAfter(delayMs: number) {
    timer = setTimeout(check, Math.ceil(delayMs))
  }

  return {
    waits() {
      waitsSince = performance.now()
      if (!timer) check()
    },
    arrived(sizeBytes: number) {
      if (waitsSince !== null) waitedMs += performance.now() - waitsSince
      waitsSince = null
      receivedBytes += sizeBytes
    },
    stop: () => clearTimeout(timer),
  }
}

export const bodyTimedOut = () =>
  new ServiceError('request_timeout', 'The body arrived too slowly. Send the request again over a faster connection.')
