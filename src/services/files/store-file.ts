import type { UploadPurpose } from '../../domain/file-purpose.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { keepRows, type ReceivedRows } from '../datasets/ingest-rows.ts'
import { fileIdOf, findFile, type StoredFile } from './find-file.ts'

/**
 * Makes an uploaded file a data set that never changes.
 * @throws ServiceError invalid_input
 */
export async function storeFile({
  ctx,
  input: { file, fileName, purpose, lifeSeconds },
  idempotency,
}: {
  ctx: Ctx
  input: {
    file: ReceivedRows | null
    fileName: string
    purpose: UploadPurpose
    lifeSeconds?: number | undefined
  }
  idempotency: Idempotency
}): Promise<StoredFile> {
  if (!file || file.sizeBytes === 0) throw invalidInput('file', 'file must be a file with at least one byte.')
  const { fileId } = await once<{ fileId: string }>(ctx, idempotency, (answer) =>
    keepRows(ctx, file, { ...keptAs(file, fileName, purpose), lifeSeconds }, async (tx, version) => {
      await recordAudit(tx, ctx, 'data.upload', version.datasetId)
      return answer(tx, { fileId: version.datasetId })
    }),
  )
  return findFile({ ctx, input: { fileId } })
}

/** A file's id is that of its data set, which never changes. */
export const keptAs = ({ versionId }: ReceivedRows, fileName: string, purpose: UploadPurpose) => ({
  datasetId: fileIdOf(versionId),
  isPublic: false,
  fileName,
  purpose: purpose === 'fine-tune' ? undefined : purpose,
})
