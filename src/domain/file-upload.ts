// Files that arrive in parts, for those that are too large for one request.
import type { UploadPurpose } from './file-purpose.ts'

export type FileUpload = {
  id: string
  accountId: string
  fileName: string
  purpose: UploadPurpose
  /** As it was announced. */
  sizeBytes: number
  /** The file is removed this long after its creation; null: it is kept. */
  lifeSeconds: number | null
  status: 'pending' | 'completed' | 'cancelled' | 'expired'
  /** Once the upload is completed. */
  fileId: string | null
  createdAt: Date
}

export type UploadPart = { id: string; uploadKey: string; sizeBytes: number; createdAt: Date }

const gibibyte = 1024 ** 3

/** `parts`: S3 takes no more in one object. `heldTimes`: parts that were sent again count twice. */
export const uploadLimits = {
  fileBytes: 8 * gibibyte,
  partBytes: 64 * 1024 * 1024,
  parts: 10_000,
  heldTimes: 2,
  openUploads: 100,
  lifeMs: 60 * 60 * 1000,
}

export const expiryOf = ({ createdAt }: Pick<FileUpload, 'createdAt'>) =>
  new Date(createdAt.getTime() + uploadLimits.lifeMs)
