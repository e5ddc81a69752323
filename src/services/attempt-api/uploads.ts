// Where a pod uploads files, and whether they have arrived.
import { ServiceError } from '../../domain/service-error.ts'
import type { ArtifactFile } from '../../domain/training-job.ts'
import type { Storage } from '../../storage/storage.ts'

/** Where to PUT a file: as a whole, or in parts that have `partBytes` each but for the last. */
export type UploadPlace = { name: string } & ({ url: string } | { partBytes: number; urls: string[] })

export const uploadPlaces = (storage: Storage, files: readonly ArtifactFile[]): Promise<UploadPlace[]> =>
  Promise.all(
    files.map(async ({ name, key, sizeBytes }) => {
      if (sizeBytes <= storage.partBytes) return { name, url: await storage.presignPodPut(key) }
      return { name, partBytes: storage.partBytes, urls: await storage.presignPodParts(key, sizeBytes) }
    }),
  )

/** Joins the parts of large files. @throws ServiceError artifact_incomplete unless every object has its declared size */
export async function requireUploaded(storage: Storage, files: readonly ArtifactFile[]): Promise<void> {
  for (const { name, key, sizeBytes } of files) {
    if (sizeBytes > storage.partBytes) await storage.joinPodParts(key, sizeBytes)
    const stored = await storage.stat(key)
    if (stored?.sizeBytes !== sizeBytes)
      throw new ServiceError(
        'artifact_incomplete',
        `${name} has ${stored?.sizeBytes ?? 0} of ${sizeBytes} bytes: upload it again.`,
      )
  }
}
