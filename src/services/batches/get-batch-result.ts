import type { Readable } from 'node:stream'
import { answerWarning } from '../../domain/answer-warning.ts'
import { batchResultText } from '../../domain/batch-result.ts'
import { chunkLength, type InferenceBatch, type PromptBatchKind } from '../../domain/inference-batch.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

export const batchNotFound = (batchId: string) => new ServiceError('not_found', `There is no batch ${batchId}.`)

/** `warning`: a sentence about the answers so far; null without one. */
type BatchResult = { text: AsyncIterable<string | Buffer>; warning: string | null }

/**
 * The finished results as JSON text: `{}`, or one value per item in order, null for an item without a result.
 * Old clients expect the results without gaps, so a chunk shows only after all chunks before it. They take the first answer
 * of embeddings for the final one, so embeddings show only when all are done.
 * @throws ServiceError not_found, conflict when the batch has failed
 */
export async function getBatchResult({
  ctx,
  input: { kind, batchId },
}: {
  ctx: Ctx
  input: { kind: PromptBatchKind; batchId: string }
}): Promise<BatchResult> {
  const { batchBeginnings, database } = ctx.deps
  const { inferenceBatches } = database
  const find = async () => {
    const batch = await inferenceBatches.find(ctx.accountId, batchId)
    if (batch?.kind !== kind) throw batchNotFound(batchId)
    if (batch.state === 'failed' || batch.resultKey !== null) batchBeginnings.forget(batch)
    if (batch.state === 'failed') throw new ServiceError('conflict', batch.message ?? 'The batch failed.')
    return batch
  }
  const batch = await find()
  const warning = warningOf(batch)
  if (batch.resultKey !== null) return { text: await readStored(ctx, batch.resultKey, batchId), warning }
  if (batch.state === 'running' && kind === 'embeddings') return { text: nothingYet(), warning }
  const { chunkSize } = batch.request
  const shown = await batchBeginnings.read(batch, (first) =>
    inferenceBatches.listLeadingChunks(batchId, chunkSize, first),
  )
  // The batch may have ended between the two reads, which deletes its chunks.
  const now = shown.length > 0 ? batch : await find()
  if (now.resultKey !== null) return { text: await readStored(ctx, now.resultKey, batchId), warning: warningOf(now) }
  if (shown.length === 0 && now.state === 'running') return { text: nothingYet(), warning }
  const shownCount = shown.reduce((count, _chunk, index) => count + chunkLength(batch, index), 0)
  const text = batchResultText(kind, (index) => Promise.resolve(shown[index] ?? null), {
    chunkCount: shown.length,
    missingCount: batch.itemCount - shownCount,
  })
  return { text, warning: warningOf(now) }
}

const warningOf = ({ request, doneCount, failedCount, emptyCount }: InferenceBatch) =>
  answerWarning(request.risk ?? null, { count: doneCount - failedCount, empty: emptyCount })

async function* nothingYet() {
  yield '{}'
}

async function readStored(ctx: Ctx, key: string, batchId: InferenceBatch['id']): Promise<Readable> {
  const stored = await ctx.deps.storage.read(key)
  if (!stored) throw batchNotFound(batchId)
  return stored
}
