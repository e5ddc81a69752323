import { setTimeout as sleep } from 'node:timers/promises'
import { isReadOf, type Columns, type DatasetReport } from '../../domain/dataset-report.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/** A request waits this long. A longer check continues, and a later request reads its report. */
const waitMs = 25_000

export type CheckedDataset = { version: DatasetVersion & { location: string }; report: DatasetReport | null }

/**
 * Returns the report of the newest version and checks its bytes first if necessary. Null when nothing is uploaded.
 * @throws ServiceError not_found, unavailable while the check runs
 */
export async function getDatasetReport({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { datasetId: string }
}): Promise<CheckedDataset> {
  const version = await findDataset({ ctx, input })
  return { version, report: await checkVersion(ctx, version) }
}

/** @returns null when nothing is uploaded @throws ServiceError unavailable while the check runs */
export async function checkVersion(
  ctx: Ctx,
  version: Pick<DatasetVersion, 'id' | 'uploadKey'>,
): Promise<DatasetReport | null> {
  const { database, storage } = ctx.deps
  const object = await storage.stat(version.uploadKey)
  if (!object) return null
  const columns = await database.datasets.columns(version.id)
  const known = await database.datasets.report(version.id)
  if (known && isReadOf(known, { etag: object.etag, columns })) return known
  await database.datasets.noteSize(version.id, object.sizeBytes)
  const check = checks.get(version.id) ?? startCheck(ctx, version, columns)
  const report = await Promise.race([check, sleep(waitMs, 'late' as const, { ref: false })])
  if (report !== 'late') return report
  // The next request reports a later failure.
  check.catch(() => undefined)
  throw new ServiceError('unavailable', 'The data set is still being checked. Ask again in a few seconds.', {
    retryAfterSeconds: 5,
  })
}

/** Running checks of this process, by version. */
const checks = new Map<string, Promise<DatasetReport | null>>()
/** Accounts with a running check. The validator gives accounts their turns; one account may not fill its queue. */
const checking = new Set<string>()

function startCheck(
  { deps, accountId }: Ctx,
  { id, uploadKey }: Pick<DatasetVersion, 'id' | 'uploadKey'>,
  columns: Columns | null,
): Promise<DatasetReport | null> {
  if (checking.has(accountId))
    throw new ServiceError(
      'unavailable',
      'Another data set of this account is being checked. Ask again in a few seconds.',
      { retryAfterSeconds: 5 },
    )
  checking.add(accountId)
  const check = (async () => {
    try {
      const report = await deps.datasets.check({ accountId, key: uploadKey, columns })
      if (report) await deps.database.datasets.saveReport(id, report)
      return report
    } finally {
      checks.delete(id)
      checking.delete(accountId)
    }
  })()
  checks.set(id, check)
  return check
}
