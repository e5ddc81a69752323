import { setTimeout as sleep } from 'node:timers/promises'
import { isReadOf, type Columns, type DatasetReport } from '../../domain/dataset-report.ts'
import type { MethodName } from '../../domain/method-table.ts'
import type { ItemNeed } from '../../domain/reward-task.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { resolveModel } from '../models/resolve.ts'
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
  /**
   * `modelName`: the model whose tokens are counted. Null: those of any model that were counted before, or of the default one.
   * `method`: the one that the rows are read for. Null: the one of the report that is there, or the one that takes the first rows.
   */
  input: { datasetId: string; modelName: string | null; method: MethodName | null }
}): Promise<CheckedDataset> {
  const model = input.modelName === null ? null : (await resolveModel(ctx, input.modelName)).baseModel.name
  const version = await findDataset({ ctx, input })
  return { version, report: await checkVersion(ctx, version, { model, method: input.method }) }
}

/**
 * `model`: the base model whose tokens are counted. `method`: the one that the rows are for. Null for any, or the one that takes
 * the first rows. `needs`: the parts of an item that the graders of a job read; their report is for the job alone.
 */
type Wanted = { model: string | null; method: MethodName | null; needs?: readonly ItemNeed[] }

/**
 * @returns null when nothing is uploaded
 * @throws ServiceError unavailable while the check runs
 */
export async function checkVersion(
  ctx: Ctx,
  version: Pick<DatasetVersion, 'id' | 'uploadKey'>,
  { model, method, needs = [] }: Wanted,
): Promise<DatasetReport | null> {
  const { database, storage } = ctx.deps
  const object = await storage.stat(version.uploadKey)
  if (!object) return null
  const columns = await database.datasets.columns(version.id)
  const known = await database.datasets.report(version.id)
  const isCounted = model === null || (known?.countedFor ?? known?.tokenLength?.tokenizer) === model
  if (known && needs.length === 0 && isReadOf(known, { etag: object.etag, columns, method }) && isCounted) return known
  await database.datasets.noteSize(version.id, object.sizeBytes)
  const counting = {
    model: model ?? ctx.deps.catalogue.defaultCompletionModel.name,
    method,
    columns,
    needs,
  }
  const check = checks.get(checkId(version, counting)) ?? startCheck(ctx, version, counting)
  const report = await Promise.race([check, sleep(waitMs, 'late' as const, { ref: false })])
  if (report !== 'late') return report
  // The next request reports a later failure.
  check.catch(() => undefined)
  throw new ServiceError('unavailable', 'The data set is still being checked. Ask again in a few seconds.', {
    retryAfterSeconds: 5,
  })
}

type Counting = {
  model: string
  method: MethodName | null
  columns: Columns | null
  needs: readonly ItemNeed[]
}

const checkId = ({ id }: Pick<DatasetVersion, 'id'>, { model, method, needs }: Counting) =>
  `${id} ${method} ${model} ${JSON.stringify(needs)}`

/** Running checks of this process, by version, method and model. */
const checks = new Map<string, Promise<DatasetReport | null>>()
/** Accounts with a running check. The validator gives accounts their turns; one account may not fill its queue. */
const checking = new Set<string>()

function startCheck(
  { deps, accountId }: Ctx,
  version: Pick<DatasetVersion, 'id' | 'uploadKey'>,
  counting: Counting,
): Promise<DatasetReport | null> {
  if (checking.has(accountId))
    throw new ServiceError(
      'unavailable',
      'Another data set of this account is being checked. Ask again in a few seconds.',
      { retryAfterSeconds: 5 },
    )
  checking.add(accountId)
  const id = checkId(version, counting)
  const check = (async () => {
    try {
      const report = await deps.datasets.check({ accountId, key: version.uploadKey, ...counting })
      if (report && counting.needs.length === 0) await deps.database.datasets.saveReport(version.id, report)
      return report
    } finally {
      checks.delete(id)
      checking.delete(accountId)
    }
  })()
  checks.set(id, check)
  return check
}
