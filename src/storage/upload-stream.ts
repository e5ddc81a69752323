// Uploads a stream of unknown length whole or not at all, in constant memory. minio's own method would hold parts of 528 MB,
// continue any unfinished upload of the same key, and hang when its source fails.
import type { Client } from 'minio'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreTransport } from './store-transport.ts'

/** S3 takes 10,000 parts, so objects reach 80 GB. Two parts are in memory: one is sent while the next fills. */
const partBytes = 8 * 1024 * 1024
const partUrlSeconds = 15 * 60
const partTimeoutMs = 2 * 60_000
const tries = 4
const tryAgainMs = 200

type Target = {
  client: Client
  transport: StoreTransport
  bucket: string
  key: string
  signal?: AbortSignal | undefined
}
type Part = { part: number; etag: string }

/** @returns the size in bytes. When it throws or is aborted, neither an object nor parts are left. */
export async function uploadStream(target: Target, chunks: AsyncIterable<Buffer>): Promise<number> {
  const { client, bucket, key, signal } = target
  let uploadId: string | undefined
  const parts: Part[] = []
  let sending: Promise<void> = Promise.resolve()
  let sizeBytes = 0
  try {
    for await (const block of inBlocks(chunks)) {
      sizeBytes += block.bytes.length
      await sending
      signal?.throwIfAborted()
      if (block.isLast && uploadId === undefined) {
        await uploadBytes(target, block.bytes)
        return sizeBytes
      }
      uploadId ??= await client.initiateNewMultipartUpload(bucket, key, {})
      sending = sendPart(target, { uploadId, part: parts.length + 1, bytes: block.bytes, parts })
      // Awaited with the next block or at the end.
      sending.catch(() => undefined)
    }
    await sending
    if (uploadId !== undefined) await client.completeMultipartUpload(bucket, key, uploadId, parts)
    return sizeBytes
  } catch (error) {
    await sending.catch(() => undefined)
    if (uploadId !== undefined) await client.abortMultipartUpload(bucket, key, uploadId).catch(() => undefined)
    // The store may have completed the upload although its answer was lost.
    await client.removeObject(bucket, key).catch(() => undefined)
    throw error
  }
}

/** In one request. minio's own method would hash the bytes at once. */
export async function uploadBytes({ client, transport, bucket, key, signal }: Target, bytes: Buffer) {
  const url = await client.presignedPutObject(bucket, key, partUrlSeconds)
  await put(transport, url, bytes, signal)
}

async function sendPart(
  { client, transport, bucket, key, signal }: Target,
  { uploadId, part, bytes, parts }: { uploadId: string; part: number; bytes: Buffer; parts: Part[] },
) {
  const query = { uploadId, partNumber: String(part) }
  const url = await client.presignedUrl('PUT', bucket, key, partUrlSeconds, query)
  const etag = await put(transport, url, bytes, signal)
  parts[part - 1] = { part, etag }
}

/** Signed URLs need no hash of the bytes; hashing here would hold up the event loop. */
async function put(
  transport: StoreTransport,
  url: string,
  bytes: Buffer,
  signal: AbortSignal | undefined,
): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const timeout = AbortSignal.timeout(partTimeoutMs)
    try {
      return await putOnce(transport, url, bytes, signal ? AbortSignal.any([signal, timeout]) : timeout)
    } catch (error) {
      signal?.throwIfAborted()
      if (attempt === tries) throw error
    }
    await sleep(tryAgainMs * 2 ** attempt, undefined, signal ? { signal } : {})
  }
}

/** Uses node:http because `fetch` would copy the bytes first. @returns the part's ETag */
async function putOnce(transport: StoreTransport, url: string, bytes: Buffer, signal: AbortSignal): Promise<string> {
  const outgoing = transport.request(url, { method: 'PUT', headers: { 'content-length': bytes.length }, signal })
  // The socket may fail after the answer, when nobody waits for it any more.
  outgoing.on('error', () => undefined)
  outgoing.end(bytes)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const answer = await text(response)
  const { statusCode = 0, headers } = response
  if (statusCode === 200) return (headers.etag ?? '').replaceAll('"', '')
  throw new Error(`the object store answered ${statusCode}: ${answer.slice(0, 200)}`)
}

/** Yields full blocks and then the rest; an empty source gives one empty block. Two buffers take turns. */
async function* inBlocks(chunks: AsyncIterable<Buffer>): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  const spare: Buffer[] = []
  let block: Buffer = Buffer.allocUnsafe(64 * 1024)
  let filled = 0
  let blockCount = 0
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length;) {
      if (filled === block.length && block.length < partBytes) block = grown(block)
      if (filled === partBytes) {
        yield { bytes: block, isLast: false }
        blockCount++
        // The previous block has been sent by now.
        spare.push(block)
        block = spare.length > 1 ? (spare.shift() ?? block) : Buffer.allocUnsafe(partBytes)
        filled = 0
      }
      const to = Math.min(chunk.length, from + block.length - filled)
      filled += chunk.copy(block, filled, from, to)
      from = to
    }
  }
  if (filled > 0 || blockCount === 0) yield { bytes: block.subarray(0, filled), isLast: true }
}

function grown(block: Buffer): Buffer {
  const larger = Buffer.allocUnsafe(Math.min(partBytes, block.length * 4))
  block.copy(larger)
  return larger
}
