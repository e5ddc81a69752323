// Uploads that were opened and then never used (no job, no check, no announcement) go; the others are measured once their URLs
// have expired.
import type { UploadPart } from '../src/domain/file-upload.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'

/** Counts from the opening of the upload; its URL has long expired by then. */
const abandonedAfterMs = 24 * 60 * 60 * 1000
const uploadsPerPortion = 200

type Stores = { database: Pick<Database, 'datasets'>; storage: Storage }

/** @returns the number of removed uploads */
export async function removeAbandonedUploads(
  { database, storage }: { database: Pick<Database, 'datasets' | 'now'>; storage: Storage },
  { olderThanMs = abandonedAfterMs, signal }: { olderThanMs?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const before = new Date((await database.now()).getTime() - olderThanMs)
  const next = () => database.datasets.abandoned(before, uploadsPerPortion)
  const count = await removeAll({ database, storage }, next, signal)
  return count + (await storage.abortStaleUploads(olderThanMs))
}

export type RemoveParts = (parts: readonly UploadPart[]) => Promise<void>

/** Uploads in parts that are complete, cancelled or too old. @returns the number of uploads */
export async function removeEndedParts(
  { database, removeParts }: { database: Pick<Database, 'fileUploads' | 'now'>; removeParts: RemoveParts },
  signal?: AbortSignal,
): Promise<number> {
  for (let count = 0; ;) {
    const portion = await database.fileUploads.endedWithParts(uploadsPerPortion)
    for (const { id } of portion) {
      signal?.throwIfAborted()
      await removeParts(await database.fileUploads.listParts(id))
      count++
    }
    if (portion.length < uploadsPerPortion) {
      const before = new Date((await database.now()).getTime() - abandonedAfterMs)
      while ((await database.fileUploads.removeOld(before, uploadsPerPortion)) === uploadsPerPortion)
        signal?.throwIfAborted()
      return count
    }
  }
}

/** @returns the number of removed files */
export const removeExpiredFiles = (stores: Stores, signal?: AbortSignal): Promise<number> =>
  removeAll(stores, () => stores.database.datasets.expired(uploadsPerPortion), signal)

/** @param next finds the next portion of those that are still there */
async function removeAll(
  { database, storage }: Stores,
  next: () => Promise<{ id: string; uploadKey: string }[]>,
  signal?: AbortSignal,
): Promise<number> {
  for (let count = 0; ;) {
    const portion = await next()
    for (const { id, uploadKey } of portion) {
      signal?.throwIfAborted()
      // The row is hidden first, so that no job starts on it, and goes last, so that the next round finds what a crash left.
      await database.datasets.hide(id)
      await storage.remove([uploadKey])
      await database.datasets.removeUnused(id)
      count++
    }
    if (portion.length < uploadsPerPortion) return count
  }
}

/** @returns their number. The length of an upload is unknown when its URL is signed, and the URL may overwrite bytes that a job has used. */
export async function measureUploads(
  { database, storage }: { database: Pick<Database, 'datasets'>; storage: Storage },
  signal?: AbortSignal,
): Promise<number> {
  for (let count = 0; ;) {
    const uploads = await database.datasets.unmeasuredUploads(uploadsPerPortion)
    for (const { id, uploadKey } of uploads) {
      signal?.throwIfAborted()
      await database.datasets.measure(id, (await storage.stat(uploadKey))?.sizeBytes ?? 0)
    }
    count += uploads.length
    if (uploads.length < uploadsPerPortion) return count
  }
}
