import type { FileUpload } from '../../domain/file-upload.ts'
import type { Ctx } from '../context.ts'
import { findUpload, noUpload, requirePending } from './find.ts'
import { removeParts } from './remove-parts.ts'

/** Removes the parts; a repeat gets the same answer. @throws ServiceError not_found, conflict after another end */
export async function cancelUpload({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<FileUpload> {
  const { database, storage, log } = ctx.deps
  const parts = await database.transaction(async (tx) => {
    const upload = await tx.fileUploads.hold(ctx.accountId, id)
    if (!upload) throw noUpload()
    if (upload.status !== 'cancelled') requirePending(upload)
    await tx.fileUploads.cancel(id)
    return tx.fileUploads.listParts(id)
  })
  // Retention removes what is left when this fails.
  await removeParts({ database, storage }, parts).catch((error: unknown) =>
    log.warn({ err: error, uploadId: id }, 'failed to remove the parts of an upload'),
  )
  return findUpload({ ctx, input: { id } })
}
