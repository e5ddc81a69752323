import { setImmediate as nextTurn } from 'node:timers/promises'

const turnBytes = 1024 * 1024

/** Reads all of a stream. Others have their turns meanwhile: the bytes may all be here already. */
export async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = []
  let sinceTurn = 0
  for await (const piece of stream) {
    pieces.push(piece)
    sinceTurn += piece.length
    if (sinceTurn < turnBytes) continue
    await nextTurn()
    sinceTurn = 0
  }
  return Buffer.concat(pieces)
}
