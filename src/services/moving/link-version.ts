import type { Columns } from '../../domain/dataset-report.ts'
import { isDatasetId } from '../../domain/dataset-id.ts'
import type { FilePurpose } from '../../domain/file-purpose.ts'
import type { Ctx } from '../context.ts'
import { datasetNotFound } from '../datasets/find.ts'

/** Makes a short-lived URL for the rows of a version, as they were uploaded. @throws ServiceError not_found */
export async function linkVersion({
  ctx: { deps, accountId },
  input: { datasetId, version },
}: {
  ctx: Ctx
  input: { datasetId: string; version: number }
}) {
  const found = isDatasetId(datasetId) ? await deps.database.jobRecords.version(accountId, datasetId, version) : null
  if (!found) throw datasetNotFound()
  const { fileName, isPublic, createdAt, expiresAt, uploadKey } = found
  const isExpired = expiresAt !== null && expiresAt.getTime() <= Date.now()
  const stored = isExpired ? null : await deps.storage.stat(uploadKey)
  return {
    ...{ version, fileName, isPublic, createdAt, expiresAt, sizeBytes: stored?.sizeBytes ?? null },
    purpose: found.purpose as FilePurpose | null,
    columns: found.columns as Columns | null,
    url: stored && (await deps.storage.presignDownload(uploadKey)),
    expiresInSeconds: await deps.storage.podUrlSeconds(),
  }
}
