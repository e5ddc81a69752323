import { DatasetInvalidError } from '../../datasets/dataset-invalid-error.ts'
import { parseDatasetId } from '../../domain/dataset-id.ts'
import type { Columns } from '../../domain/dataset-report.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { findDataset } from './find.ts'
import { discardUnfinished, keepRows, openRows } from './ingest-rows.ts'

type MappedDataset = { datasetId: string; location: string; rowCount: number }

/** Accounts that map a file now, in this process: the others find a free thread at any time. */
const mapping = new Set<string>()

/**
 * Makes a data set of rows with input and output from the newest version of one whose columns have other names. That one
 * stays as it is. With an Idempotency-Key the work outlives the request's connection.
 * @throws ServiceError not_found, invalid_input with the first bad rows, quota_exceeded, unavailable
 */
export async function mapDatasetColumns({
  ctx,
  input,
  idempotency,
  signal,
}: {
  ctx: Ctx
  input: { datasetId: string; columns: Columns; newId: string | undefined }
  idempotency: Idempotency
  signal: AbortSignal
}): Promise<MappedDataset> {
  const newId = input.newId === undefined ? undefined : parseDatasetId(input.newId)
  const { uploadKey } = await findDataset({ ctx, input })
  // A repeat with the same key gets the answer, also when a proxy has cut the first connection.
  const ending = idempotency ? new AbortController().signal : signal
  return once<MappedDataset>(ctx, idempotency, async (answer) => {
    await requireRoomForData(ctx)
    const rows = await openRows(ctx)
    try {
      const task = { accountId: ctx.accountId, dataKey: uploadKey, columns: input.columns, key: rows.key }
      Object.assign(rows, await inTurn(ctx, () => mapRows(ctx, task, ending)))
      return await keepRows(
        ctx,
        rows,
        { datasetId: newId, isPublic: false },
        async (tx, { datasetId, uploadKey: key }) => {
          await recordAudit(tx, ctx, 'data.upload', datasetId)
          return answer(tx, { datasetId, location: ctx.deps.storage.urlPrefix + key, rowCount: rows.rowCount })
        },
      )
    } finally {
      if (rows.kept === 'no') await discardUnfinished(ctx, rows)
    }
  })
}

type Task = Parameters<Ctx['deps']['datasets']['map']>[0]

async function mapRows({ deps }: Ctx, task: Task, signal: AbortSignal) {
  try {
    const { rowCount, sizeBytes } = await deps.datasets.map(task, signal)
    return { rowCount, sizeBytes }
  } catch (error) {
    if (error instanceof DatasetInvalidError) throw invalidInput('output', error.message)
    throw error
  }
}

async function inTurn<T>({ accountId }: Ctx, work: () => Promise<T>): Promise<T> {
  if (mapping.has(accountId))
    throw new ServiceError('unavailable', 'Another file of this account is being mapped. Ask again in a few seconds.', {
      retryAfterSeconds: 5,
    })
  mapping.add(accountId)
  try {
    return await work()
  } finally {
    mapping.delete(accountId)
  }
}
