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
  /** Whether a request joins the parts now. `joiningVersionId` is the data set that the newest such request writes. */
  isJoining: boolean
  joiningVersionId: string | null
  /** The MD5 sum that the parts have in the order with this hash. */
  orderHash: string | null
  orderMd5: string | null
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
  /** A request that joins parts renews its claim several times in this time. */
  joinClaimMs: 30_000,
}

export const expiryOf = ({ createdAt }: Pick<FileUpload, 'createdAt'>) =>
  new Date(createdAt.getTime() + uploadLimits.lifeMs)
