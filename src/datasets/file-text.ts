// The text of an uploaded file in UTF-8. Gzip and UTF-16 are recognised by their first bytes, and so are files that hold no text.
// Bounds the result, so that a small file cannot become endless.
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { gigabytes } from './dataset-limits.ts'

export const notUtf8 = 'is not UTF-8 text: save the file in UTF-8'

/** Thrown for a file that holds no text or exceeds a bound. The message is a phrase that follows "the file". */
export class FileTextError extends Error {
  override name = 'FileTextError'
}

const otherCompression = 'is compressed, and only gzip is read: send the file as gzip or as it is'
/** The first bytes of files that people take for text files, and what to say of them. */
const foreign: [start: string, problem: string][] = [
  ['PK\x03\x04', 'is a ZIP archive or an Excel workbook: unpack it, or save the sheet as "CSV UTF-8"'],
  ['\xd0\xcf\x11\xe0', 'is an Excel workbook: save the sheet as "CSV UTF-8"'],
  ['PAR1', 'is a Parquet file: write its rows as JSON Lines'],
  ['ARROW1', 'is an Arrow file: write its rows as JSON Lines'],
  ['\x28\xb5\x2f\xfd', otherCompression],
  ['\xfd7zXZ', otherCompression],
  ['BZh', otherCompression],
  ['%PDF-', 'is a PDF, not a file of rows'],
]
const longestStart = Math.max(...foreign.map(([start]) => start.length))

/** @throws FileTextError */
export async function* textOfFile(file: AsyncIterable<Buffer>, unpackedLimitBytes: number): AsyncGenerator<Buffer> {
  const bytes = decompressed(file, unpackedLimitBytes)
  const start = await readFirst(bytes, longestStart)
  const head = start.toString('latin1', 0, longestStart)
  const known = foreign.find(([sign]) => head.startsWith(sign))
  if (known) throw new FileTextError(known[1])
  async function* whole() {
    yield start
    yield* bytes
  }
  const encoding = head.startsWith('\xff\xfe') ? 'utf-16le' : head.startsWith('\xfe\xff') ? 'utf-16be' : null
  yield* encoding ? utf8Of(whole(), encoding) : whole()
}

/** PowerShell and Excel write UTF-16. */
async function* utf8Of(bytes: AsyncIterable<Buffer>, encoding: 'utf-16le' | 'utf-16be') {
  const decoder = new TextDecoder(encoding, { fatal: true })
  try {
    for await (const chunk of bytes) yield Buffer.from(decoder.decode(chunk, { stream: true }))
    yield Buffer.from(decoder.decode())
  } catch (error) {
    throw error instanceof TypeError ? new FileTextError('is not valid UTF-16 text') : error
  }
}

/** Reads on until there are `count` bytes. The iterator stays open. */
async function readFirst(bytes: AsyncIterator<Buffer>, count: number): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0)
  while (start.length < count) {
    const next = await bytes.next()
    if (next.done) break
    start = Buffer.concat([start, next.value])
  }
  return start
}

/** Text compresses by a factor of 3 to 20, a bomb by 1,000. Small files may have any ratio. */
const maxRatio = 200
const ratioCountsFromBytes = 256 * 1024 * 1024

async function* decompressed(file: AsyncIterable<Buffer>, unpackedLimitBytes: number): AsyncGenerator<Buffer> {
  const bytes = file[Symbol.asyncIterator]()
  const start = await readFirst(bytes, 2)
  let packedBytes = 0
  function counted(chunk: Buffer): Buffer {
    packedBytes += chunk.length
    if (packedBytes > unpackedLimitBytes) throw new FileTextError(`is larger than ${gigabytes(unpackedLimitBytes)}`)
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
        throw new FileTextError(`unpacks to more than ${gigabytes(unpackedLimitBytes)}`)
      if (unpackedBytes > ratioCountsFromBytes && unpackedBytes > packedBytes * maxRatio)
        throw new FileTextError(`unpacks to more than ${maxRatio} times its compressed size`)
      yield chunk
    }
  } catch (error) {
    throw isZlibError(error) ? new FileTextError('is not valid gzip') : error
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
