import type { ArtifactFile } from '../src/domain/training-job.ts'
import type { Storage } from '../src/storage/storage.ts'

/** Whether every file exists with the size and hash of its manifest. Reads all bytes. */
export async function verifyFiles(storage: Storage, files: readonly ArtifactFile[]): Promise<boolean> {
  for (const { key, sizeBytes, sha256 } of files) {
    const stored = await storage.sha256(key)
    if (stored?.sizeBytes !== sizeBytes || stored.sha256 !== sha256) return false
  }
  return true
}

/** Whether every file exists with its size: a restored store may have lost files that were verified before. */
export async function allExist(storage: Storage, files: readonly Pick<ArtifactFile, 'key' | 'sizeBytes'>[]) {
  for (const { key, sizeBytes } of files) if ((await storage.stat(key))?.sizeBytes !== sizeBytes) return false
  return true
}
