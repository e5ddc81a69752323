import { Prisma } from '../../generated/prisma/client.ts'
import type {
  BatchEndReason,
  BatchKind,
  BatchRequest,
  BatchState,
  ChunkResults,
  InferenceBatch,
} from '../domain/inference-batch.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Connection } from './connection.ts'
import { notify } from './notifications.ts'

export const createInferenceBatchRepository = (db: Connection) => ({
  /** A batch of an evaluation needs no turn: its evaluation has one. */
  async create(batch: NewBatch, { evaluationId = null }: { evaluationId?: string | null } = {}) {
    // Stored as text: jsonb cannot hold a NUL, which a field's name may contain.
    const request = JSON.stringify(batch.request)
    const storedBytes = batch.request.chunks.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    const rowBytes = Buffer.byteLength(request)
    const turn = { evaluationId, grantedAt: evaluationId === null ? null : new Date() }
    await db.inferenceBatch.create({ data: { ...batch, ...turn, request, storedBytes, rowBytes, state: 'running' } })
  },

  async find(accountId: string, id: string): Promise<InferenceBatch | null> {
    const row = await db.inferenceBatch.findFirst({ where: { id, accountId } })
    return row && plain(row)
  },

  async exists(accountId: string, id: string): Promise<boolean> {
    return (await db.inferenceBatch.count({ where: { id, accountId } })) > 0
  },

  /** For workers: finds a batch of any account. @throws ServiceError not_found after its account was deleted */
  async get(id: string): Promise<InferenceBatch> {
    const row = await db.inferenceBatch.findUnique({ where: { id } })
    if (!row) throw new ServiceError('not_found', `There is no batch ${id}.`)
    return plain(row)
  },

  /** The number of the account's open batches, and of their unfinished items. */
  async openOf(accountId: string): Promise<{ batchCount: number; waitingItems: number }> {
    const [open] = await db.$queryRaw<{ batchCount: number; waitingItems: number }[]>`
      select count(*)::int as "batchCount", coalesce(sum(item_count - done_count), 0)::int as "waitingItems"
      from inference_batches where account_id = ${accountId}::uuid and state = 'running'`
    return open ?? { batchCount: 0, waitingItems: 0 }
  },

  /**
   * Notes the start of a running batch, which only its first chunk does.
   * @returns the time since then by the database's clock; null when the batch has ended, or is about to
   */
  async begin(id: string): Promise<number | null> {
    const [begun] = await db.$queryRaw<{ ageMs: number }[]>`
      update inference_batches set started_at = coalesce(started_at, now())
      where id = ${id}::uuid and state = 'running' and end_reason is null
      returning (extract(epoch from now() - started_at) * 1000)::float8 as "ageMs"`
    return begun?.ageMs ?? null
  },

  /** Returns the batches that exist, with the keys of their objects. */
  async listKeys(ids: string[]): Promise<Pick<InferenceBatch, 'id' | 'state' | 'promptsKey' | 'resultKey'>[]> {
    const select = { id: true, state: true, promptsKey: true, resultKey: true } as const
    const rows = await db.inferenceBatch.findMany({ where: { id: { in: [...new Set(ids)] } }, select })
    return rows.map((row) => ({ ...row, state: row.state as BatchState }))
  },

  /** Ignores older or repeated results, and results of an ended batch. Needs a transaction. */
  async saveChunk({ batchId, start, itemCount }: Chunk & { itemCount: number }, results: ChunkResults) {
    const held = await db.$queryRaw<unknown[]>`
      select id from inference_batches where id = ${batchId}::uuid and state = 'running' and finalizing_at is null for update`
    if (held.length === 0) return
    const changed = await db.$executeRaw`
      insert into inference_batch_chunks as old (batch_id, start, results)
      values (${batchId}::uuid, ${start}, ${JSON.stringify(results)}::jsonb)
      on conflict (batch_id, start) do update set results = excluded.results
      where not (old.results->>'isFinal')::boolean
        and ((excluded.results->>'isFinal')::boolean or (old.results->>'step')::int < (excluded.results->>'step')::int)`
    if (changed > 0 && results.isFinal)
      await db.inferenceBatch.update({
        where: { id: batchId },
        data: {
          doneCount: { increment: itemCount },
          failedCount: { increment: results.errorCount },
          emptyCount: { increment: results.emptyCount ?? 0 },
        },
      })
  },

  async isChunkFinal({ batchId, start }: Chunk): Promise<boolean> {
    const rows = await db.$queryRaw<unknown[]>`
      select start from inference_batch_chunks
      where batch_id = ${batchId}::uuid and start = ${start} and (results->>'isFinal')::boolean`
    return rows.length > 0
  },

  async findChunk({ batchId, start }: Chunk): Promise<ChunkResults | null> {
    const row = await db.inferenceBatchChunk.findUnique({ where: { batchId_start: { batchId, start } } })
    return row && (row.results as ChunkResults)
  },

  /** Returns results from chunk `first` up to the first gap, and reads no other chunks. */
  async listLeadingChunks(batchId: string, chunkSize: number, first = 0): Promise<ChunkResults[]> {
    const rows = await db.$queryRaw<{ results: ChunkResults }[]>`
      select results from (
        select start, results, row_number() over (order by start) - 1 + ${first}::int as index
        from inference_batch_chunks where batch_id = ${batchId}::uuid and start >= ${first * chunkSize}::int) chunks
      where start = index * ${chunkSize}::int order by start`
    return rows.map(({ results }) => results)
  },

  /** How large the stored results are, and how many items were refused. */
  async measureResults(batchId: string): Promise<{ sizeBytes: number; errorCount: number }> {
    const [row] = await db.$queryRaw<{ sizeBytes: number; errorCount: number }[]>`
      select coalesce(sum(octet_length(results::text)), 0)::float8 as "sizeBytes",
        coalesce(sum((results->>'errorCount')::int), 0)::int as "errorCount"
      from inference_batch_chunks where batch_id = ${batchId}::uuid`
    return row ?? { sizeBytes: 0, errorCount: 0 }
  },

  /**
   * Ends a batch and counts the bytes of its results. A result in the object store replaces its chunks. Needs a transaction.
   * @returns false when the batch had ended before
   */
  async finish(id: string, resultKey: string | null): Promise<boolean> {
    const place = Prisma.raw(resultKey === null ? 'row_bytes' : 'stored_bytes')
    const count = await db.$executeRaw`
      update inference_batches set state = 'done', result_key = ${resultKey}, finished_at = now(),
        ${place} = ${place} + (
          select coalesce(sum(octet_length(results::text)), 0) from inference_batch_chunks where batch_id = ${id}::uuid)
      where id = ${id}::uuid and state = 'running'`
    if (count > 0 && resultKey !== null) await db.inferenceBatchChunk.deleteMany({ where: { batchId: id } })
    // The account's next batch may start.
    if (count > 0) await notify(db, 'work')
    return count > 0
  },

  /** Ends a batch without a result and deletes its chunks. Needs a transaction. @returns false when it had ended before */
  async fail(id: string, message: string, reason: BatchEndReason = 'failed'): Promise<boolean> {
    const count = await db.$executeRaw`
      update inference_batches set state = 'failed', message = ${message}, end_reason = ${reason}, finished_at = now()
      where id = ${id}::uuid and state = 'running'`
    if (count === 0) return false
    await db.inferenceBatchChunk.deleteMany({ where: { batchId: id } })
    await notify(db, 'work')
    return true
  },
})

type Begun = 'doneCount' | 'failedCount' | 'emptyCount' | 'state' | 'message' | 'resultKey'
export type NewBatch = Omit<InferenceBatch, Begun>
type Chunk = { batchId: string; start: number }

export const plain = ({
  id,
  accountId,
  apiKeyId,
  kind,
  modelName,
  request,
  promptsKey,
  itemCount,
  doneCount,
  failedCount,
  emptyCount,
  state,
  message,
  resultKey,
}: Prisma.InferenceBatchGetPayload<object>): InferenceBatch => ({
  id,
  accountId,
  apiKeyId,
  kind: kind as BatchKind,
  modelName,
  request: JSON.parse(request as string) as BatchRequest,
  promptsKey,
  itemCount,
  doneCount,
  failedCount,
  emptyCount,
  state: state as BatchState,
  message,
  resultKey,
})
