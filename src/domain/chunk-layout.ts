// Items of durable work in one object of the store, in chunks that can be read alone.

/** A byte range of the object with all items; each chunk is a JSON array. */
export type ChunkLocation = { offset: number; sizeBytes: number }

/** Items of one activity: enough to keep an engine busy, few enough to repeat after a crash. */
export const chunkSize = 128

export function layOut(items: readonly unknown[]): { object: Buffer; chunks: ChunkLocation[] } {
  const parts: Buffer[] = []
  const chunks: ChunkLocation[] = []
  let offset = 0
  for (let start = 0; start < items.length; start += chunkSize) {
    const part = Buffer.from(JSON.stringify(items.slice(start, start + chunkSize)))
    parts.push(part)
    chunks.push({ offset, sizeBytes: part.length })
    offset += part.length
  }
  return { object: Buffer.concat(parts), chunks }
}
