// Items of durable work in one object of the store, in chunks that can be read alone.

/** A byte range of the object with all items; each chunk is a JSON array. */
export type ChunkLocation = { offset: number; sizeBytes: number }

/** Items of one activity: enough to keep an engine busy, few enough to repeat after a crash. */
export const chunkSize = 128

export function layOut(items: readonly unknown[]): { object: Buffer; chunks: ChunkLocation[] } {
  const parts: Buffer[] = []
  for (let start = 0; start < items.length; start += chunkSize)
    parts.push(Buffer.from(JSON.stringify(items.slice(start, start + chunkSize))))
  return joined(parts)
}

/** Makes one object of the chunks. */
export function joined(parts: readonly Uint8Array[]): { object: Buffer; chunks: ChunkLocation[] } {
  let offset = 0
  const chunks = parts.map(({ length: sizeBytes }) => {
    offset += sizeBytes
    return { offset: offset - sizeBytes, sizeBytes }
  })
  return { object: Buffer.concat(parts), chunks }
}
