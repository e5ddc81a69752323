// Joins objects to one, in a thread: the object store copies them where it can, and a hash has to read them all.
import { createHash } from 'node:crypto'
import type { Storage } from '../storage/storage.ts'

/** `md5`: what the object must have, when that is known; it is written in lower case. */
export type PartsToJoin = { pieces: readonly { key: string; sizeBytes: number }[]; key: string; md5: string | null }

/** `md5`: what was found, when it was asked for. Without `isJoined` it is another one, and nothing was written. */
export type JoinedParts = { md5: string | null; isJoined: boolean }

export async function joinParts(
  storage: Pick<Storage, 'join' | 'readAll'>,
  { pieces, key, md5 }: PartsToJoin,
): Promise<JoinedParts> {
  const found = md5 === null ? null : await md5Of(storage.readAll(pieces))
  if (found !== md5) return { md5: found, isJoined: false }
  await storage.join(pieces, key)
  return { md5: found, isJoined: true }
}

async function md5Of(bytes: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('md5')
  for await (const piece of bytes) hash.update(piece)
  return hash.digest('hex')
}
