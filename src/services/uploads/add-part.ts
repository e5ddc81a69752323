import { uploadLimits, type FileUpload } from '../../domain/file-upload.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import type { ReceivedRows } from '../datasets/ingest-rows.ts'
import { commitStored } from '../store-then-commit.ts'
import { noUpload, requirePending } from './find.ts'

/**
 * Keeps a received part. Its order is told when the upload is completed.
 * @throws ServiceError not_found, conflict when the upload is not pending, invalid_input
 */
export async function addPart({
  ctx,
  input: { uploadId, part },
}: {
  ctx: Ctx
  input: { uploadId: string; part: ReceivedRows | null }
}): Promise<{ id: string; createdAt: Date }> {
  if (!part || part.sizeBytes === 0) throw invalidInput('data', 'data must be a file with at least one byte.')
  const { versionId: id, sizeBytes } = part
  const createdAt = await commitStored(ctx.deps.database, part, async (tx) => {
    const upload = await tx.fileUploads.hold(ctx.accountId, uploadId)
    if (!upload) throw noUpload()
    requirePending(upload)
    requireRoom(upload, await tx.fileUploads.held(uploadId), sizeBytes)
    await tx.datasets.holdPart(id, sizeBytes)
    return tx.fileUploads.addPart(uploadId, { id, sizeBytes })
  })
  return { id, createdAt }
}

function requireRoom(upload: FileUpload, held: { partCount: number; sizeBytes: number }, sizeBytes: number) {
  const { parts, partBytes, heldTimes } = uploadLimits
  if (sizeBytes > partBytes)
    throw invalidInput('data', `data must have at most ${partBytes} bytes. Send smaller parts.`)
  if (held.partCount >= parts) throw invalidInput('data', `An upload has at most ${parts} parts. Send larger ones.`)
  if (held.sizeBytes + sizeBytes > heldTimes * upload.sizeBytes)
    throw invalidInput(
      'data',
      `The parts of this upload would have more than ${heldTimes} times the ${upload.sizeBytes} bytes of its file.`,
    )
}
