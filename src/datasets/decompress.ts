// Gzip, recognised by its first bytes and bounded: a small file must not become an endless one.
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

/** The file cannot be unpacked, or not within bounds; the message follows "the file". */
export class UnpackError extends Error {
  override name = 'UnpackError'
}

const unpackedLimitBytes = 8 * 1024 ** 3
/** Text packs 3 to 20 times; bombs 1,000 times. Short files may repeat themselves as they like. */
const highestRatio = 200
const ratioCountsFromBytes = 256 * 1024 * 1024

/** @throws UnpackError */
export async function* unpacked(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const bytes = file[Symbol.asyncIterator]()
  let start: Buffer = Buffer.alloc(0)
  for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
    start = Buffer.concat([start, next.value])
    if (start.length >= 2) break
  }
  let packedBytes = 0
  async function* whole() {
    packedBytes += start.length
    yield start
    for (let next = await bytes.next(); !next.done; next = await bytes.next()) {
      packedBytes += next.value.length
      yield next.value
    }
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
        throw new UnpackError(`unpacks to more than ${unpackedLimitBytes / 1024 ** 3} GB`)
      if (unpackedBytes > ratioCountsFromBytes && unpackedBytes > packedBytes * highestRatio)
        throw new UnpackError(`unpacks to more than ${highestRatio} times its size`)
      yield chunk
    }
  } catch (error) {
    throw isZlibError(error) ? new UnpackError('is not valid gzip') : error
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
