import type { Columns } from '../../domain/dataset-report.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findDataset } from './find.ts'

/**
 * Says which columns of the newest version are read from now on; null for those whose names say it. Jobs keep the rows that they
 * have prepared.
 * @throws ServiceError not_found, invalid_input for a column that the file does not have
 */
export async function setDatasetColumns({
  ctx,
  input: { datasetId, columns },
  signal,
}: {
  ctx: Ctx
  input: { datasetId: string; columns: Columns | null }
  signal: AbortSignal
}): Promise<DatasetVersion> {
  const version = await findDataset({ ctx, input: { datasetId } })
  if (columns) await requireColumns(ctx, version, columns, signal)
  await ctx.deps.database.transaction(async (tx) => {
    await tx.datasets.setColumns(version.id, columns)
    await recordAudit(tx, ctx, 'data.columns', datasetId)
  })
  return version
}

const sampledRows = 100

async function requireColumns(
  { deps, accountId }: Ctx,
  { uploadKey: key }: DatasetVersion,
  columns: Columns,
  signal: AbortSignal,
) {
  const model = deps.catalogue.defaultCompletionModel.name
  const task = {
    accountId,
    key,
    columns,
    model,
    pairs: null,
    method: 'supervised' as const,
    offset: 0,
    limit: sampledRows,
  }
  const preview = await deps.datasets.preview(task, signal)
  if (!preview) throw invalidInput('output', 'Nothing was uploaded to the data set: upload the file first.')
  const has = preview.columns.map((name) => JSON.stringify(name)).join(', ')
  for (const field of ['input', 'output'] as const) {
    const name = columns[field]
    if (name !== null && !preview.columns.includes(name))
      throw invalidInput(field, `The file has no column ${JSON.stringify(name)}. It has ${has || 'no columns'}.`)
  }
}
