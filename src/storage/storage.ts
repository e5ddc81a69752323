// The only code that speaks to the object store.
import { CopyDestinationOptions, CopySourceOptions, S3Error, type Client } from 'minio'
import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { collect } from '../collect.ts'
import { storeTimeouts, type StoreTimeouts } from './store-transport.ts'
import { canJoin, copyInParts, joinObjects, joinParts, partUrlSeconds, presignParts, type Piece } from './multipart.ts'
import { createClients, type StoreAccess } from './store-clients.ts'
import { uploadBytes, uploadStream } from './upload-stream.ts'

export type StorageConfig = {
  endpoint: string
  /** The address in users' URLs, when users reach the store at another one. */
  publicEndpoint?: string | undefined
  region: string
  bucket: string
  /** Larger objects of pods are uploaded and copied in parts of this size: 5 MiB to 4 GiB. */
  partBytes?: number
} & StoreAccess

const defaultPartBytes = 512 * 1024 * 1024

/** Lifetimes of signed URLs: two hours to upload a data set, 15 minutes for a pod. */
const uploadUrlSeconds = 2 * 60 * 60
const podUrlSeconds = 15 * 60
/** The most keys that S3 deletes in one request. */
const objectsPerRequest = 1000

/** Age by the store's own clock. */
type StoredObject = { key: string; ageMs: number }
/** Names are lower case. */
type Metadata = Record<string, string>
type IncompleteUpload = { key: string; uploadId: string; initiated: Date }

export type Storage = ReturnType<typeof createStorage>

export function createStorage(config: StorageConfig, timeouts: StoreTimeouts = storeTimeouts) {
  const { bucket, region, endpoint, publicEndpoint = endpoint, partBytes = defaultPartBytes } = config
  const { client, publicClient, transport, urlSeconds } = createClients(
    { endpoint, publicEndpoint, region },
    config,
    timeouts,
  )
  const presign = async (by: Client, method: 'GET' | 'PUT', key: string, seconds: number) =>
    by.presignedUrl(method, bucket, key, await urlSeconds(seconds), {}, transport.now())

  return {
    /** The part of users' URLs before a key. */
    urlPrefix: `${new URL(publicEndpoint).origin}/${bucket}/`,
    bucket,
    /** How long a URL for a pod or for a download lives that is signed now. */
    podUrlSeconds: () => urlSeconds(podUrlSeconds),
    partBytes,

    async ensureBucket() {
      if (await client.bucketExists(bucket)) return
      await client.makeBucket(bucket, region).catch((error: unknown) => {
        // Another replica created the bucket first.
        if (!hasCode(error, 'BucketAlreadyOwnedByYou')) throw error
      })
    },

    /** @throws when the store does not answer */
    async check() {
      await client.bucketExists(bucket)
    },

    /** Leaves the content type unsigned: old clients send their own. */
    presignUpload: (key: string) => presign(publicClient, 'PUT', key, uploadUrlSeconds),
    presignDownload: (key: string) => presign(publicClient, 'GET', key, podUrlSeconds),
    presignPodPut: (key: string) => presign(client, 'PUT', key, podUrlSeconds),
    presignPodGet: (key: string) => presign(client, 'GET', key, podUrlSeconds),

    /** Begins an upload of a pod in parts. @returns their URLs in order; all parts but the last have `partBytes` */
    async presignPodParts(key: string, sizeBytes: number): Promise<string[]> {
      const seconds = await urlSeconds(partUrlSeconds)
      return presignParts({ client, bucket, key }, { sizeBytes, partBytes, seconds, now: transport.now() })
    },

    /** Makes the parts of an upload one object if they have this size in all, else drops them. */
    joinPodParts: (key: string, sizeBytes: number): Promise<void> => joinParts({ client, bucket, key }, sizeBytes),

    /** Null when the object does not exist. Another `etag` means other content. */
    async stat(key: string): Promise<{ sizeBytes: number; etag: string } | null> {
      try {
        const { size, etag } = await client.statObject(bucket, key)
        return { sizeBytes: size, etag }
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },

    /** The metadata that the object got when it was copied; empty when it does not exist. */
    async metadata(key: string): Promise<Metadata> {
      try {
        return (await client.statObject(bucket, key)).metaData as Metadata
      } catch (error) {
        if (isMissing(error)) return {}
        throw error
      }
    },

    /** @returns null when the object does not exist */
    async read(key: string): Promise<Readable | null> {
      try {
        return await client.getObject(bucket, key)
      } catch (error) {
        if (isMissing(error)) return null
        throw error
      }
    },

    /** At most `limit` bytes from `offset` on; empty beyond the end. */
    async readRange(
      key: string,
      { offset, limit }: { offset: number; limit: number },
    ): Promise<{ bytes: Buffer; sizeBytes: number }> {
      const sizeBytes = (await this.stat(key))?.sizeBytes ?? 0
      const nothing = { bytes: Buffer.alloc(0), sizeBytes }
      if (offset >= sizeBytes) return nothing
      try {
        const body = await client.getPartialObject(bucket, key, offset, Math.min(limit, sizeBytes - offset))
        return { bytes: await collect(body), sizeBytes }
      } catch (error) {
        // A log that is still growing may be replaced at any moment, even by a shorter one.
        if (isMissing(error) || hasCode(error, 'InvalidRange')) return nothing
        throw error
      }
    },

    /** The store's time, as its last answer told it; our own before the first answer. */
    now: () => transport.now(),

    async write(key: string, body: Buffer | Readable) {
      if (Buffer.isBuffer(body)) await uploadBytes({ client, transport, bucket, key }, body)
      else await uploadStream({ client, transport, bucket, key }, body as AsyncIterable<Buffer>)
    },

    /** Writes the object unless it exists. Read it afterwards: another process may have been first. */
    async writeIfAbsent(key: string, body: Buffer) {
      try {
        await client.putObject(bucket, key, body, body.length, { 'if-none-match': '*' })
      } catch (error) {
        if (!hasCode(error, 'PreconditionFailed', 'ConditionalRequestConflict')) throw error
      }
    },

    /** Writes the object whole or not at all, in constant memory. @returns its size in bytes */
    writeStream: (key: string, chunks: AsyncIterable<Buffer>, signal?: AbortSignal): Promise<number> =>
      uploadStream({ client, transport, bucket, key, signal }, chunks),

    /** Aborts multipart uploads that nobody will finish. @returns how many there were */
    async abortStaleUploads(olderThanMs: number): Promise<number> {
      let count = 0
      const before = transport.now().getTime() - olderThanMs
      for await (const item of client.listIncompleteUploads(bucket, '', true) as AsyncIterable<IncompleteUpload>) {
        if (item.initiated.getTime() > before) continue
        await client.abortMultipartUpload(bucket, item.key, item.uploadId)
        count++
      }
      return count
    },

    /** Copies on the server; a missing object is not copied. With `metadata`, the copy has only these; a large one has none else. */
    async copy(from: string, to: string, metadata?: Metadata) {
      const sizeBytes = (await this.stat(from))?.sizeBytes ?? 0
      if (sizeBytes > partBytes) {
        const headers = Object.fromEntries(
          Object.entries(metadata ?? {}).map(([name, value]) => [`x-amz-meta-${name}`, value]),
        )
        return copyInParts({ client, bucket, key: to }, { from, sizeBytes, partBytes, headers })
      }
      const replaced = metadata ? { UserMetadata: metadata, MetadataDirective: 'REPLACE' as const } : {}
      try {
        await client.copyObject(
          new CopySourceOptions({ Bucket: bucket, Object: from }),
          new CopyDestinationOptions({ Bucket: bucket, Object: to, ...replaced }),
        )
      } catch (error) {
        if (!isMissing(error)) throw error
      }
    },

    /** Makes one object of several, on the server where it can. @throws Error when one of them is gone */
    async join(pieces: readonly Piece[], to: string) {
      if (canJoin(pieces)) await joinObjects({ client, bucket, key: to }, pieces)
      else await this.writeStream(to, this.readAll(pieces))
    },

    /** Yields the bytes of several objects, one after the other. @throws Error when one of them is gone */
    async *readAll(pieces: readonly Piece[]): AsyncGenerator<Buffer> {
      for (const { key } of pieces) {
        const body = await this.read(key)
        if (!body) throw new Error(`an object to join is gone: ${key}`)
        yield* body as AsyncIterable<Buffer>
      }
    },

    /** Removes what a process that was ended has uploaded of an object. */
    async dropUnfinished(key: string) {
      const uploadId = await client.findUploadId(bucket, key)
      if (uploadId !== undefined) await client.abortMultipartUpload(bucket, key, uploadId)
    },

    /** Hashes the whole object in constant memory. @returns null when the object does not exist */
    async sha256(key: string): Promise<{ sha256: string; sizeBytes: number } | null> {
      const body = await this.read(key)
      if (!body) return null
      const hash = createHash('sha256')
      let sizeBytes = 0
      for await (const chunk of body as AsyncIterable<Buffer>) {
        hash.update(chunk)
        sizeBytes += chunk.length
      }
      return { sha256: hash.digest('hex'), sizeBytes }
    },

    async remove(keys: string[]) {
      if (keys.length === 0) return
      for (const answer of await client.removeObjects(bucket, keys))
        if (answer && 'Error' in answer && answer.Error)
          throw new Error(`the object store refused to remove an object: ${JSON.stringify(answer.Error)}`)
    },

    /** All objects under a prefix, one page in memory at a time. */
    async *pages(prefix: string): AsyncGenerator<StoredObject[]> {
      type Listed = { name?: string; lastModified?: Date }
      let page: StoredObject[] = []
      for await (const { name, lastModified } of client.listObjectsV2(bucket, prefix, true) as AsyncIterable<Listed>) {
        const now = transport.now().getTime()
        // The store gives times in whole seconds.
        const ageMs = Math.max(0, now - (lastModified?.getTime() ?? now))
        if (name !== undefined) page.push({ key: name, ageMs })
        if (page.length < objectsPerRequest) continue
        yield page
        page = []
      }
      yield page
    },

    /** Removes all objects under a prefix, which must end with a slash. @returns how many there were */
    async removeFolder(prefix: string): Promise<number> {
      if (!/^[^/]+\/.*\/$/.test(prefix)) throw new Error(`not a folder: ${prefix}`)
      let count = 0
      for await (const page of this.pages(prefix)) {
        await this.remove(page.map(({ key }) => key))
        count += page.length
      }
      return count
    },
  }
}

function isMissing(error: unknown): boolean {
  return hasCode(error, 'NotFound', 'NoSuchKey', 'NoSuchObject')
}

function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof S3Error && codes.includes(error.code ?? '')
}
