// Decompresses gzip, which is recognised by its first bytes. Bounds the result, so that a small file cannot become endless.
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { gigabytes } from './dataset-limits.ts'

/** Thrown for a file that is no valid gzip or exceeds a bound. The message is a phrase that follows "the file". */
export class DecompressError extends Error {
  override name = 'DecompressError'
}

/** Text compresses by a factor of 3 to 20, a bomb by 1,000. Small files may have any ratio. */
const maxRatio = 200
const ratioCountsFromBytes = 256 * 1024 * 1024

/** @throws DecompressError */
export async function* decompressed(file: AsyncIterable<Buffer>, unpackedLimitBytes: number): AsyncGenerator<Buffer> {
  const bytes = file[Symbol.asyncIterator]()
  let start: Buffer = Buffer.alloc(0)
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    start = Buffer.concat([start, next.value])
    if (start.length >= 2) break
  }
  let packedBytes = 0
  function counted(chunk: Buffer): Buffer {
    packedBytes += chunk.length
    if (packedBytes > unpackedLimitBytes) throw new DecompressError(`is larger than ${gigabytes(unpackedLimitBytes)}`)
    return chunk
  }
  async function* whole() {
    yield counted(start)
    for (let next = await bytes.next(); !next.done; next = await bytes.next()) yield counted(next.value)
  }
  if (start[0] !== 0x1f || start[1] !== 0x8b) {
    yield* whole()
    return
  }
  let unpackedBytes = 0
  try {
    for await (const chunk of gunzip(whole())) {
      unpackedBytes += chunk.length
      if (unpackedBytes > unpackedLimitBytes)
        throw new DecompressError(`unpacks to more than ${gigabytes(unpackedLimitBytes)}`)
      if (unpackedBytes > ratioCountsFromBytes && unpackedBytes > packedBytes * maxRatio)
        throw new DecompressError(`unpacks to more than ${maxRatio} times its compressed size`)
      yield chunk
    }
  } catch (error) {
    throw isZlibError(error) ? new DecompressError('is not valid gzip') : error
  }
}

function gunzip(bytes: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  const source = Readable.from(bytes)
  const gunzipped = createGunzip({ chunkSize: 64 * 1024 })
  source.on('error', (error) => gunzipped.destroy(error))
  gunzipped.on('close', () => source.destroy())
  return source.pipe(gunzipped) as AsyncIterable<Buffer>
}

const isZlibError = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && String(error.code).startsWith('Z_')
