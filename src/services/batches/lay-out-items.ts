// Lays the items of a request out in chunks, as chunk-layout.ts does. Writing 64 MB at once would hold up the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { chunkSize as usualChunkSize, type ChunkLocation } from '../../domain/chunk-layout.ts'
import { jsonPieces } from '../../json-pieces.ts'

/** A worker parses a chunk at once. */
const maxChunkCharacters = 4 * 1024 * 1024
/** So small that the history of a workflow holds the chunks of 10,000 items. */
const leastChunkSize = 16
const turnBytes = 256 * 1024

type Layout = { chunkSize: number; chunks: ChunkLocation[]; pieces: Buffer[] }

/**
 * @param mostCharacters of a text that the model takes. A longer one is refused, or cut, when it is answered: only so much of it
 * is kept as shows that it is too long.
 */
export async function layOutItems(items: readonly string[], mostCharacters: number): Promise<Layout> {
  const texts = items.map((text) => (text.length > mostCharacters ? text.slice(0, mostCharacters + 1) : text))
  const chunkSize = chunkSizeOf(texts)
  const chunks: ChunkLocation[] = []
  const pieces: Buffer[] = []
  let [offset, sinceTurn] = [0, 0]
  for (let start = 0; start < texts.length; start += chunkSize) {
    let sizeBytes = 0
    for await (const piece of jsonPieces(texts.slice(start, start + chunkSize))) {
      const bytes = Buffer.from(piece)
      pieces.push(bytes)
      sizeBytes += bytes.length
    }
    chunks.push({ offset, sizeBytes })
    offset += sizeBytes
    sinceTurn += sizeBytes
    if (sinceTurn < turnBytes) continue
    await nextTurn()
    sinceTurn = 0
  }
  return { chunkSize, chunks, pieces }
}

function chunkSizeOf(texts: readonly string[]): number {
  const longest = texts.reduce((most, { length }) => Math.max(most, length), 1)
  return Math.max(leastChunkSize, Math.min(usualChunkSize, Math.floor(maxChunkCharacters / longest)))
}
