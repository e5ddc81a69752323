// The batches of both APIs in one list. Each API makes its own and gives their results.
import { wireTime } from '../../domain/timestamps.ts'
import { cancelBatch } from '../../services/batches/cancel-batch.ts'
import type { DescribedBatch } from '../../services/batches/describe-batches.ts'
import { listBatches } from '../../services/batches/list-batches.ts'
import { showBatch } from '../../services/batches/show-batch.ts'
import { defineRoute } from '../kit/route.ts'
import { idOf } from '../openai/ids.ts'
import { BatchList, BatchListQuery, BatchPath, Batch } from './schemas/batches.ts'

const defaultPageSize = 20

export const batchListRoutes = [
  defineRoute({
    name: 'list_batches',
    method: 'get',
    path: '/v1/batches',
    summary: 'List the batches of the account, also those of files, newest first',
    access: 'key',
    scope: 'read',
    query: BatchListQuery,
    response: BatchList,
    hasTag: true,
    async handle({ caller: ctx, query: { after = null, limit = defaultPageSize, status: statuses = null } }) {
      const { batches, next } = await listBatches({ ctx, input: { after, limit, statuses } })
      return { batches: batches.map(shown), next }
    },
  }),
  defineRoute({
    name: 'get_batch',
    method: 'get',
    path: '/v1/batches/:id',
    summary: 'Get how far a batch is',
    access: 'key',
    scope: 'read',
    params: BatchPath,
    response: Batch,
    hasTag: true,
    handle: async ({ caller: ctx, params: { id: batchId } }) => shown(await showBatch({ ctx, input: { batchId } })),
  }),
  defineRoute({
    name: 'cancel_batch',
    method: 'post',
    path: '/v1/batches/:id/cancel',
    summary: 'Cancel an open batch. A batch of a file keeps the lines that were answered; the others have no result',
    access: 'key',
    scope: 'inference',
    params: BatchPath,
    errorStatuses: [409],
    response: Batch,
    handle: async ({ caller: ctx, params: { id: batchId } }) => shown(await cancelBatch({ ctx, input: { batchId } })),
  }),
]

const pathOfKind = {
  completions: '/v1/batch_completions',
  streaming: '/v3/streaming_completions',
  embeddings: '/v1/batch_embeddings',
} as const

const timeOrNull = (date: Date | null) => date && wireTime(date)
const pathOfFile = (fileId: string | null) => fileId && `/openai/v1/files/${fileId}/content`

function linksOf({ id, kind, status, outputFileId, errorFileId }: DescribedBatch): Batch['links'] {
  if (kind === 'requests') return { result: pathOfFile(outputFileId), errors: pathOfFile(errorFileId) }
  const hasResult = status === 'COMPLETED' || (status === 'RUNNING' && kind !== 'embeddings')
  return { result: hasResult ? `${pathOfKind[kind]}/${id}/result` : null, errors: null }
}

function shown(batch: DescribedBatch): Batch {
  const { id, kind, status, wait, cancelledAt, finishedAt, doneCount, failedCount } = batch
  const isCancelling = cancelledAt !== null && finishedAt === null
  return {
    id: kind === 'requests' ? idOf('batch', id) : id,
    kind,
    status,
    status_reason: isCancelling ? 'cancelling' : wait && wait.reason,
    status_message: isCancelling ? 'The lines that are being answered end first.' : wait ? wait.message : batch.message,
    model_name: batch.modelName || null,
    display_name: batch.displayName,
    item_counts: { total: batch.itemCount, completed: doneCount - failedCount, failed: failedCount },
    key_id: batch.apiKeyId,
    key_name: batch.keyName,
    created_at: wireTime(batch.createdAt),
    started_at: timeOrNull(batch.startedAt),
    finished_at: timeOrNull(finishedAt),
    links: linksOf(batch),
  }
}
