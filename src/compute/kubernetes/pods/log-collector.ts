import type { Readable } from 'node:stream'
import type { LogRange, LogSlice } from '../../run.ts'
import { characterStart, defaultLimitBytes, startOffset, wholeCharacters } from '../../log-slice.ts'

/**
 * Reads a log to its end and keeps only the requested part in memory. `read` may be called before the end; it then returns
 * the part that has arrived.
 */
export function collectLog(log: Readable, range: LogRange = {}): { done: Promise<void>; read: () => LogSlice } {
  const offset = range.offsetBytes ?? 0
  const limit = range.limitBytes ?? defaultLimitBytes
  const kept: Buffer[] = []
  /** Position of the first kept byte in the log. */
  let from = 0
  let sizeBytes = 0

  function take(chunk: Buffer): void {
    kept.push(chunk)
    sizeBytes += chunk.length
    // Drops what lies before the requested part from the front, and what lies after it from the back.
    const wantedFrom = startOffset(offset, sizeBytes)
    while (kept[0] && from + kept[0].length <= wantedFrom) from += kept.shift()?.length ?? 0
    if (offset >= 0 && sizeBytes - chunk.length >= offset + limit) kept.pop()
  }

  async function readAll(): Promise<void> {
    for await (const chunk of log as AsyncIterable<Buffer>) take(chunk)
  }

  function read(): LogSlice {
    const start = startOffset(offset, sizeBytes)
    const available = Buffer.concat(kept).subarray(Math.max(0, start - from))
    const bytes = available.subarray(0, limit)
    const first = offset < 0 ? characterStart(bytes) : 0
    const end = start + bytes.length >= sizeBytes ? bytes.length : wholeCharacters(bytes, bytes.length)
    return { text: bytes.toString('utf8', first, end), nextOffsetBytes: start + end, sizeBytes }
  }

  return { done: readAll(), read }
}
