import { parseDatasetId } from '../../domain/dataset-id.ts'
import type { Columns } from '../../domain/dataset-report.ts'
import type { FilePurpose } from '../../domain/file-purpose.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { isUniqueViolation } from '../../repositories/database.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { discardRows, openRows } from '../datasets/ingest-rows.ts'
import { requireRoomToCopy } from '../limits/account-quotas.ts'
import { commitStored } from '../store-then-commit.ts'
import { dropStaged, findStaged, takeStaged } from './staged.ts'

export type ImportedDataset = {
  datasetId: string
  version: number
  sizeBytes: number
  sha256: string
  fileName: string | null
  purpose: FilePurpose | null
  columns: Columns | null
  isPublic: boolean
  createdAt: Date
  expiresAt: Date | null
}

/** `needs_files`: upload them, then ask again. `there`: the account has the same rows under that version. */
export type ImportState = 'done' | 'there' | 'needs_files'

/**
 * Makes uploaded rows a version of a data set, under the number that it had in another installation. A repeat changes nothing.
 * @throws ServiceError invalid_input, also for rows that have expired, conflict when that version has other rows, quota_exceeded
 */
export async function importDataset({ ctx, input }: { ctx: Ctx; input: ImportedDataset }): Promise<ImportState> {
  const { database } = ctx.deps
  const datasetId = parseDatasetId(input.datasetId)
  if (await isThere(ctx, { ...input, datasetId })) return 'there'
  if (input.expiresAt && input.expiresAt.getTime() <= Date.now())
    throw invalidInput(
      'expires_at',
      `Version ${input.version} of the data set "${datasetId}" has expired: leave it out.`,
    )
  const staged = await findStaged(ctx, { name: 'The file of the rows', ...input })
  if (!staged) return 'needs_files'
  const rows = await database.transaction(async (tx) => {
    await tx.accounts.hold(ctx.accountId)
    await requireRoomToCopy(ctx, tx)
    return openRows(ctx, { repositories: tx, sizeBytes: input.sizeBytes })
  })
  try {
    await takeStaged(ctx, staged, rows.key)
    const { sha256: _hash, sizeBytes, columns, ...kept } = input
    await commitStored(database, rows, async (tx) => {
      await tx.importedJobs.keepVersion(rows.versionId, { ...kept, sizeBytes, ...(columns && { columns }) })
      await recordAudit(tx, ctx, 'import.data', `${datasetId} version ${input.version}`)
    })
  } catch (error) {
    // Another import of the same version was faster.
    if (!isUniqueViolation(error)) throw error
    return (await isThere(ctx, { ...input, datasetId })) ? 'there' : 'needs_files'
  } finally {
    if (rows.kept === 'no') await discardRows(ctx, rows)
  }
  await dropStaged(ctx, staged)
  return 'done'
}

type Wanted = Pick<ImportedDataset, 'datasetId' | 'version' | 'sizeBytes' | 'sha256'>

/** @throws ServiceError conflict when the version has other rows */
async function isThere({ accountId, deps }: Ctx, { datasetId, version, ...wanted }: Wanted): Promise<boolean> {
  const found = await deps.database.jobRecords.version(accountId, datasetId, version)
  if (!found) return false
  const { sizeBytes } = (await deps.storage.stat(found.uploadKey)) ?? {}
  // Without a look at bytes that cannot be the same.
  const stored = sizeBytes === wanted.sizeBytes ? await deps.storage.sha256(found.uploadKey) : null
  if (stored?.sizeBytes === wanted.sizeBytes && stored.sha256 === wanted.sha256) return true
  throw new ServiceError(
    'conflict',
    `This account has other rows in version ${version} of the data set "${datasetId}". Delete that data set, or import into an account without it.`,
  )
}
