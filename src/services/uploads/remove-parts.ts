import type { UploadPart } from '../../domain/file-upload.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Storage } from '../../storage/storage.ts'

type Stores = { database: Pick<Repositories, 'datasets'>; storage: Pick<Storage, 'remove'> }

/** Removes the bytes first: the rows find them again after a crash. May be repeated. */
export async function removeParts({ database, storage }: Stores, parts: readonly UploadPart[]) {
  await storage.remove(parts.map(({ uploadKey }) => uploadKey))
  for (const { id } of parts) await database.datasets.removeUnused(id)
}
