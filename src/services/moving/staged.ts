// Files of an import arrive as data sets that are named by their hash, by the upload that every data set has: so their
// bytes count, and retention removes what an interrupted import leaves.
import { ServiceError } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { Ctx } from '../context.ts'

export type SentFile = { name: string; sizeBytes: number; sha256: string }
type StagedFile = SentFile & { versionId: string; uploadKey: string }

/** The data set that a file of an import is uploaded as. */
const stagedId = (sha256: string) => `import-${sha256}`

/** Null while the file is not uploaded whole. */
export async function findStaged(ctx: Ctx, file: SentFile): Promise<StagedFile | null> {
  const { database, storage } = ctx.deps
  const version = await database.datasets.newestVersion(ctx.accountId, stagedId(file.sha256))
  if (!version?.uploadKey.startsWith(storageKeys.uploads)) return null
  const stored = await storage.stat(version.uploadKey)
  if (stored?.sizeBytes !== file.sizeBytes) return null
  return { ...file, versionId: version.id, uploadKey: version.uploadKey }
}

/**
 * Copies the file to a key that no URL can write, and hashes the copy.
 * @throws ServiceError invalid_input when the bytes are not those of the hash; they are then removed, to be sent again
 */
export async function takeStaged(ctx: Ctx, file: StagedFile, key: string, tags?: Record<string, string>) {
  const { storage } = ctx.deps
  await storage.copy(file.uploadKey, key, tags)
  const copied = await storage.sha256(key)
  if (copied?.sizeBytes === file.sizeBytes && copied.sha256 === file.sha256) return
  if (!copied) throw new ServiceError('conflict', `Another import has taken ${file.name}. Repeat the request.`)
  await dropStaged(ctx, file)
  throw new ServiceError('invalid_input', `${file.name} arrived with other bytes than its hash says. Send it again.`)
}

/** Removes what was uploaded. Retention removes it a day later if this fails. */
export async function dropStaged(ctx: Ctx, { versionId, uploadKey }: Pick<StagedFile, 'versionId' | 'uploadKey'>) {
  const { database, storage, log } = ctx.deps
  try {
    if (await database.datasets.removeUnused(versionId)) await storage.remove([uploadKey])
  } catch (error) {
    log.warn({ err: error, versionId }, 'failed to remove a file of an import')
  }
}
