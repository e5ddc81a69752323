import type { ArtifactFile } from '../src/domain/training-job.ts'
import type { Storage } from '../src/storage/storage.ts'

/** Whether every file is there with the size and hash of its manifest. Reads all of their bytes. */
export async function verifyFiles(storage: Storage, files: readonly ArtifactFile[]): Promise<boolean> {
  for (const { key, sizeBytes, sha256 } of files) {
    const stored = await storage.sha256(key)
    if (stored?.sizeBytes !== sizeBytes || stored.sha256 !== sha256) return false
  }
  return true
}

/** Whether every file is there with its size: what was verified before may be gone from a store that was restored. */
export async function areThere(storage: Storage, files: readonly Pick<ArtifactFile, 'key' | 'sizeBytes'>[]) {
  for (const { key, sizeBytes } of files) if ((await storage.stat(key))?.sizeBytes !== sizeBytes) return false
  return true
}
