// The object `installation` of a bucket: the id of the database to which the bucket belongs.
import { buffer } from 'node:stream/consumers'
import { allFolders, storageKeys } from '../src/domain/storage-keys.ts'
import type { Storage } from '../src/storage/storage.ts'

type Marked = Pick<Storage, 'read' | 'writeIfAbsent'>

/** Null when the bucket has no mark yet. */
export async function readInstallation(storage: Pick<Storage, 'read'>): Promise<string | null> {
  const body = await storage.read(storageKeys.installation)
  return body && (await buffer(body)).toString('utf8').trim()
}

/** @returns what the bucket holds then: another installation may have been first */
export async function markInstallation(storage: Marked, id: string): Promise<string | null> {
  await storage.writeIfAbsent(storageKeys.installation, Buffer.from(id))
  return readInstallation(storage)
}

/**
 * Marks an empty bucket. One with objects may be another database's: the sweep marks it once it has found objects that the
 * database names.
 * @returns the mark; null where none could be written
 */
export async function markEmptyBucket(storage: Marked & Pick<Storage, 'pages'>, id: string): Promise<string | null> {
  const known = await readInstallation(storage)
  if (known !== null) return known
  for (const folder of allFolders) for await (const page of storage.pages(folder)) if (page.length > 0) return null
  return markInstallation(storage, id)
}
