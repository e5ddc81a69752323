import type { Prisma } from '../../generated/prisma/client.ts'
import type { BatchEndReason, BatchFile, RequestBatch } from '../domain/inference-batch.ts'
import { readPage, textBytes, type Page } from './byte-pages.ts'
import type { Connection } from './connection.ts'
import { plain } from './inference-batches.ts'
import { notify } from './notifications.ts'

const kind = 'requests'

/** The most of a stored request: its metadata, and the place of a chunk for each line when lines are long. */
const requestBytes = (lineCount: number) => 16_384 + 64 * lineCount

/** A file that a batch has written. */
export type WrittenFile = BatchFile & { key: string; name: string; sizeBytes: number }

/** Batches whose items are whole requests. `inference-batches.ts` has what all batches share. */
export const createRequestBatchRepository = (db: Connection) => ({
  async find(accountId: string, id: string): Promise<RequestBatch | null> {
    const row = await db.inferenceBatch.findFirst({ where: { id, accountId, kind } })
    return row && requestBatch(row)
  },

  /** Newest first. `after` is the id of a batch of the account. */
  async list(
    accountId: string,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<Page<RequestBatch>> {
    const heads = await db.inferenceBatch.findMany({
      select: { id: true, itemCount: true },
      where: { accountId, kind },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      take: limit + 1,
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
    })
    const sized = heads.map(({ id, itemCount }) => ({ id, sizeBytes: requestBytes(itemCount) }))
    const { rows, hasMore } = await readPage(sized, limit, {
      read: (ids) => db.inferenceBatch.findMany({ where: { id: { in: ids } } }),
      sizeOf: ({ request, message }) => textBytes(request, message),
    })
    return { rows: rows.map(requestBatch), hasMore }
  },

  /** Begins no further line. The first reason counts. @returns false when the files are being written, or the batch has ended */
  async requestEnd(id: string, reason: BatchEndReason, message: string | null): Promise<boolean> {
    const count = await db.$executeRaw`
      update inference_batches set end_reason = coalesce(end_reason, ${reason}), message = coalesce(message, ${message}),
        cancelled_at = coalesce(cancelled_at, case when ${reason} = 'cancelled' then now() end)
      where id = ${id}::uuid and state = 'running' and finalizing_at is null`
    return count > 0
  },

  /** Accepts no further result, so that both files have the same results. @returns why lines are missing, if any are */
  async freeze(id: string): Promise<BatchEndReason | null> {
    const [row] = await db.$queryRaw<{ endReason: BatchEndReason | null }[]>`
      update inference_batches set finalizing_at = coalesce(finalizing_at, now())
      where id = ${id}::uuid and state = 'running' returning end_reason as "endReason"`
    return row?.endReason ?? null
  },

  /** Ends a batch with its files, and deletes its chunks. Needs a transaction. @returns false when it had ended before */
  async close(
    { id, accountId }: Pick<RequestBatch, 'id' | 'accountId'>,
    files: { output: WrittenFile | null; errors: WrittenFile | null },
  ): Promise<boolean> {
    const count = await db.$executeRaw`
      update inference_batches set state = case when end_reason is null then 'done' else 'failed' end,
        output_file_id = ${files.output?.id ?? null}, error_file_id = ${files.errors?.id ?? null},
        finished_at = now(), stored_bytes = 0
      where id = ${id}::uuid and state = 'running'`
    if (count === 0) return false
    await db.inferenceBatchChunk.deleteMany({ where: { batchId: id } })
    await notify(db, 'work')
    for (const file of [files.output, files.errors])
      if (file)
        await db.datasetVersion.create({
          data: {
            id: file.versionId,
            accountId,
            datasetId: file.id,
            version: 1,
            uploadKey: file.key,
            fileName: file.name,
            purpose: 'batch_output',
            sizeBytes: file.sizeBytes,
          },
        })
    return true
  },
})

function requestBatch(row: Prisma.InferenceBatchGetPayload<object>): RequestBatch {
  const { outputFileId, errorFileId } = row
  const { createdAt, startedAt, cancelledAt, finalizingAt, finishedAt } = row
  const endReason = row.endReason as BatchEndReason | null
  const files = { outputFileId, errorFileId }
  const times = { createdAt, startedAt, cancelledAt, finalizingAt, finishedAt }
  return { ...plain(row), endReason, ...files, ...times }
}
