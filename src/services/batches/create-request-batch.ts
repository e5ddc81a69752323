import { randomUUID } from 'node:crypto'
import type { BatchEndpoint, BatchFile, RequestBatch } from '../../domain/inference-batch.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { fileIdOf, findFile } from '../files/find-file.ts'
import { readFile } from '../files/read-file.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { acceptBatch } from './accept-batch.ts'
import { findRequestBatch } from './find-request-batch.ts'
import { requireRoomForBatch } from './require-room.ts'
import { scanLines } from './scan-lines.ts'

const maxFileBytes = 200 * 1024 * 1024

/**
 * Accepts a batch of the requests in a file: copies the file, then commits one row with its start message. The lines
 * themselves are read when they are answered.
 * @throws ServiceError not_found, invalid_input, quota_exceeded
 */
export async function createRequestBatch({
  ctx,
  input: { fileId, endpoint, metadata },
  idempotency,
}: {
  ctx: Ctx
  input: { fileId: string; endpoint: BatchEndpoint; metadata: Record<string, string> | null }
  idempotency: Idempotency
}): Promise<RequestBatch> {
  const { database, storage } = ctx.deps
  const { id } = await once<{ id: string }>(ctx, idempotency, async (answer) => {
    const file = await findFile({ ctx, input: { fileId } })
    if (file.purpose !== 'batch')
      throw invalidInput('input_file_id', 'The file of input_file_id must have the purpose batch.')
    if (file.sizeBytes > maxFileBytes)
      throw invalidInput('input_file_id', `The file of input_file_id has more than ${maxFileBytes} bytes. Split it.`)
    await requireRoomForData(ctx)
    await requireRoomInDatabase(ctx)
    await requireRoomForBatch(ctx, database, 1)
    const { lineCount, ...layout } = await inByteTurn(ctx, async () =>
      scanLines((await readFile({ ctx, input: { fileId } })).bytes),
    )
    const id = randomUUID()
    const promptsKey = storageKeys.batch(ctx.accountId, id, 'requests.jsonl')
    const requests = { endpoint, inputFileId: fileId, metadata, output: newFile(), errors: newFile() }
    const batch = {
      id,
      accountId: ctx.accountId,
      apiKeyId: ctx.apiKeyId,
      kind: 'requests' as const,
      modelName: '',
      request: { ...layout, input: null, requests },
      promptsKey,
      itemCount: lineCount,
    }
    // The account may delete the file at any time.
    return acceptBatch(ctx, { batch, storeItems: () => storage.copy(file.uploadKey, promptsKey), answer })
  })
  return findRequestBatch({ ctx, input: { batchId: id } })
}

function newFile(): BatchFile {
  const versionId = randomUUID()
  return { id: fileIdOf(versionId), versionId }
}
