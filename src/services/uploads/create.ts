import { randomUUID } from 'node:crypto'
import { uploadLimits, type FileUpload } from '../../domain/file-upload.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { findUpload } from './find.ts'

type NewUpload = Pick<FileUpload, 'fileName' | 'purpose' | 'sizeBytes' | 'lifeSeconds'>

/** Opens an upload, which takes parts for an hour. @throws ServiceError quota_exceeded */
export async function createUpload({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: NewUpload
  idempotency: Idempotency
}): Promise<FileUpload> {
  const { accountId, deps } = ctx
  const { id } = await once<{ id: string }>(ctx, idempotency, async (answer) => {
    await requireRoomForData(ctx)
    return deps.database.transaction(async (tx) => {
      await tx.accounts.hold(accountId)
      if ((await tx.fileUploads.openCount(accountId)) >= uploadLimits.openUploads) throw full()
      const id = randomUUID()
      await tx.fileUploads.create({ id, accountId, ...input })
      return answer(tx, { id })
    })
  })
  return findUpload({ ctx, input: { id } })
}

const full = () =>
  new ServiceError(
    'quota_exceeded',
    `This account has ${uploadLimits.openUploads} open uploads, the most that it may have. Complete or cancel one.`,
    { retryAfterSeconds: 60 },
  )
