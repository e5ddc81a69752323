import { open } from 'node:fs/promises'
import type { LogRange, LogSlice } from '../compute.ts'

const defaultLimitBytes = 256 * 1024

/** Null when the file does not exist. */
export async function readLogSlice(path: string, range: LogRange = {}): Promise<LogSlice | null> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (!file) return null
  try {
    const { size: sizeBytes } = await file.stat()
    const start = startOffset(range.offsetBytes ?? 0, sizeBytes)
    const wanted = Math.max(0, Math.min(range.limitBytes ?? defaultLimitBytes, sizeBytes - start))
    const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted), 0, wanted, start)
    const from = range.offsetBytes !== undefined && range.offsetBytes < 0 ? characterStart(buffer) : 0
    const reachesEnd = start + bytesRead >= sizeBytes
    const end = reachesEnd ? bytesRead : wholeCharacters(buffer, bytesRead)
    return { text: buffer.toString('utf8', from, end), nextOffsetBytes: start + end, sizeBytes }
  } finally {
    await file.close()
  }
}

function startOffset(offsetBytes: number, sizeBytes: number): number {
  return offsetBytes < 0 ? Math.max(0, sizeBytes + offsetBytes) : Math.min(offsetBytes, sizeBytes)
}

/** Skips the rest of a character that a tail began in. */
function characterStart(bytes: Buffer): number {
  let start = 0
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start])) start++
  return start
}

/** Length without a character that the limit cut; never nothing, so that a reader gets on. */
export function wholeCharacters(bytes: Buffer, length: number): number {
  let last = length - 1
  while (last > 0 && length - last < 4 && isContinuation(bytes[last])) last--
  const lead = bytes[last] ?? 0
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return size > length - last && last > 0 ? last : length
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
