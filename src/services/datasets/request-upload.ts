import { randomUUID } from 'node:crypto'
import { parseDatasetId } from '../../domain/dataset-id.ts'
import { isUniqueViolation } from '../../repositories/database.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForUpload } from '../limits/account-quotas.ts'

/**
 * Returns a presigned URL for an upload. A data set keeps its version until a job uses it; then a new version begins.
 * @throws ServiceError invalid_input for a malformed id, quota_exceeded
 */
export async function requestDatasetUpload({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: { datasetId: string }
  idempotency: Idempotency
}) {
  const id = parseDatasetId(input.datasetId)
  const { datasetId, uploadKey } = await once<Place>(ctx, idempotency, async (answer) => {
    await requireRoomForUpload(ctx)
    const version = await openDatasetVersion(ctx, id)
    await recordAudit(ctx.deps.database, ctx, 'data.upload', id)
    return answer(ctx.deps.database, { datasetId: version.datasetId, uploadKey: version.uploadKey })
  })
  return { datasetId, url: await ctx.deps.storage.presignUpload(uploadKey) }
}

/** The stored answer. Every replay presigns a new URL. */
type Place = Pick<DatasetVersion, 'datasetId' | 'uploadKey'>

async function openDatasetVersion(ctx: Ctx, datasetId: string): Promise<DatasetVersion> {
  const { datasets } = ctx.deps.database
  const newest = await datasets.newestVersion(ctx.accountId, datasetId)
  // No URL may overwrite rows that came in a request.
  if (newest && !newest.usedAt && newest.uploadKey.startsWith(storageKeys.uploads)) return newest
  const id = randomUUID()
  try {
    return await datasets.createVersion({
      id,
      accountId: ctx.accountId,
      datasetId,
      version: (newest?.version ?? 0) + 1,
      uploadKey: storageKeys.upload(ctx.accountId, datasetId, id),
    })
  } catch (error) {
    // Another request has created the same version: use that one.
    if (isUniqueViolation(error)) return openDatasetVersion(ctx, datasetId)
    throw error
  }
}
