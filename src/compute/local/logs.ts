import { open } from 'node:fs/promises'
import type { LogRange, LogSlice } from '../run.ts'
import { characterStart, defaultLimitBytes, startOffset, wholeCharacters } from '../log-slice.ts'

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
