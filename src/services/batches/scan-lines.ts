// Finds the lines of a file of requests in constant memory for each line, and lays them out in chunks.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { invalidInput } from '../../domain/service-error.ts'
import { chunkSize as usualChunkSize, type ChunkLocation } from '../../domain/chunk-layout.ts'

export const maxLines = 50_000
const maxLineBytes = 1 << 20
/** A chunk is held in memory while it is answered. */
const maxChunkBytes = 4 << 20
const turnBytes = 1 << 20
const newline = 10
/** Space, tab and carriage return: what a blank line may hold. */
const blanks = new Set([32, 9, 13])

type Layout = { chunkSize: number; chunks: ChunkLocation[]; lineCount: number }

/** @throws ServiceError invalid_input naming the line */
export async function scanLines(bytes: AsyncIterable<Buffer>): Promise<Layout> {
  const starts: number[] = []
  const ends: number[] = []
  let longest = 0
  let lineStart = 0
  let offset = 0
  let isBlank = true
  let sinceTurn = 0
  const endLine = (end: number) => {
    if (!isBlank) {
      starts.push(lineStart)
      ends.push(end)
      longest = Math.max(longest, end - lineStart)
      if (longest > maxLineBytes) throw wrong(`line ${starts.length} has more than ${maxLineBytes} bytes.`)
      if (starts.length > maxLines) throw wrong(`it has more than ${maxLines} lines. Split it into several batches.`)
    }
    lineStart = end + 1
    isBlank = true
  }
  for await (const piece of bytes) {
    for (const byte of piece) {
      if (byte === newline) endLine(offset)
      else if (!blanks.has(byte)) isBlank = false
      offset += 1
    }
    if (offset - lineStart > maxLineBytes) throw wrong(`line ${starts.length + 1} has more than ${maxLineBytes} bytes.`)
    sinceTurn += piece.length
    if (sinceTurn < turnBytes) continue
    // The bytes may all be here already.
    await nextTurn()
    sinceTurn = 0
  }
  endLine(offset)
  if (starts.length === 0) throw wrong('it has no line.')
  const chunkSize = Math.max(1, Math.min(usualChunkSize, Math.floor(maxChunkBytes / longest)))
  return { chunkSize, chunks: chunksOf(starts, ends, chunkSize), lineCount: starts.length }
}

function chunksOf(starts: readonly number[], ends: readonly number[], chunkSize: number): ChunkLocation[] {
  const chunks: ChunkLocation[] = []
  for (let first = 0; first < starts.length; first += chunkSize) {
    const offset = starts[first] as number
    const end = ends[Math.min(first + chunkSize, ends.length) - 1] as number
    chunks.push({ offset, sizeBytes: end - offset })
  }
  return chunks
}

const wrong = (what: string) => invalidInput('input_file_id', `The file of input_file_id cannot be used: ${what}`)
