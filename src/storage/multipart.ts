// Large objects in parts: uploaded by URL, or copied on the server. S3 takes at most 5 GiB in one request.
import { Client, S3Error } from 'minio'
import { ServiceError } from '../domain/service-error.ts'

/** S3 takes no more parts in one object. */
const maxParts = 10_000
/** S3 takes a smaller part only as the last one. */
const leastPartBytes = 5 * 1024 * 1024
/** Long enough for all parts of a large file. Once the upload is complete, its URLs write nothing. */
export const partUrlSeconds = 12 * 60 * 60

export class MultipartClient extends Client {
  /** The parts that have arrived, by number. */
  arrivedParts(bucket: string, key: string, uploadId: string) {
    return this.listParts(bucket, key, uploadId)
  }
}

type Target = { client: MultipartClient; bucket: string; key: string }

/** Begins an upload. @returns a URL for each part, in order; all parts but the last have `partBytes` */
export async function presignParts(
  { client, bucket, key }: Target,
  { sizeBytes, partBytes, seconds, now }: { sizeBytes: number; partBytes: number; seconds: number; now: Date },
): Promise<string[]> {
  const count = partCount(sizeBytes, partBytes)
  const uploadId = await client.initiateNewMultipartUpload(bucket, key, {})
  const sign = (part: number) =>
    client.presignedUrl('PUT', bucket, key, seconds, { uploadId, partNumber: String(part) }, now)
  return Promise.all(Array.from({ length: count }, (_, i) => sign(i + 1)))
}

/** Makes the parts of the key's unfinished upload one object, or drops them if their sizes do not add up. */
export async function joinParts({ client, bucket, key }: Target, sizeBytes: number): Promise<void> {
  const uploadId = await client.findUploadId(bucket, key)
  // Another request has joined or dropped them.
  if (uploadId === undefined) return
  try {
    const parts = await client.arrivedParts(bucket, key, uploadId)
    const arrivedBytes = parts.reduce((sum, { size }) => sum + size, 0)
    if (arrivedBytes !== sizeBytes) return await client.abortMultipartUpload(bucket, key, uploadId)
    const named = parts.map(({ part, etag }) => ({ part, etag }))
    await client.completeMultipartUpload(bucket, key, uploadId, named)
  } catch (error) {
    if (!(error instanceof S3Error && error.code === 'NoSuchUpload')) throw error
  }
}

/** Copies on the server, whole or not at all. The copy has only these headers. */
export function copyInParts(
  target: Target,
  { from, sizeBytes, partBytes, headers }: { from: string; sizeBytes: number; partBytes: number; headers: Headers },
): Promise<void> {
  const ranges = Array.from({ length: partCount(sizeBytes, partBytes) }, (_, at) => ({
    from,
    first: at * partBytes,
    end: Math.min((at + 1) * partBytes, sizeBytes),
  }))
  return copyRanges(target, ranges, headers)
}

export type Piece = { key: string; sizeBytes: number }

/** Whether S3 can join these objects: all but the last need its least size of a part. */
export const canJoin = (pieces: readonly Piece[]) =>
  pieces.length <= maxParts && pieces.slice(0, -1).every(({ sizeBytes }) => sizeBytes >= leastPartBytes)

/** Makes one object of several on the server, whole or not at all. */
export const joinObjects = (target: Target, pieces: readonly Piece[]): Promise<void> =>
  copyRanges(
    target,
    pieces.map(({ key, sizeBytes }) => ({ from: key, first: 0, end: sizeBytes })),
    {},
  )

/** A part of another object, up to the byte before `end`. */
type Range = { from: string; first: number; end: number }

async function copyRanges({ client, bucket, key }: Target, ranges: readonly Range[], headers: Headers): Promise<void> {
  const uploadId = await client.initiateNewMultipartUpload(bucket, key, headers)
  try {
    const parts = []
    for (const [index, { from, first, end }] of ranges.entries()) {
      const part = index + 1
      const range = {
        'x-amz-copy-source': `${bucket}/${from}`,
        'x-amz-copy-source-range': `bytes=${first}-${end - 1}`,
      }
      const target = { bucketName: bucket, objectName: key, uploadID: uploadId, partNumber: part, headers: range }
      const { etag } = await client.uploadPart(target)
      // The store may report a failed copy in the body of a 200.
      if (!etag) throw new Error(`the object store did not copy part ${part} of ${from}`)
      parts.push({ part, etag })
    }
    await client.completeMultipartUpload(bucket, key, uploadId, parts)
  } catch (error) {
    await client.abortMultipartUpload(bucket, key, uploadId).catch(() => undefined)
    throw error
  }
}

type Headers = Record<string, string>

function partCount(sizeBytes: number, partBytes: number): number {
  const count = Math.ceil(sizeBytes / partBytes)
  if (count <= maxParts) return count
  throw new ServiceError(
    'payload_too_large',
    `A file of ${sizeBytes} bytes needs more than ${maxParts} parts of ${partBytes} bytes: raise ANNEAL_UPLOAD_PART_MIB.`,
  )
}
