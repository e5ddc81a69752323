// The end of a batch of requests: one file with its answers and one with its errors. Together they have each line once.
import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import {
  chunkLength,
  requestLines,
  type BatchEndReason,
  type BatchFile,
  type InferenceBatch,
} from '../src/domain/inference-batch.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { WrittenFile } from '../src/repositories/request-batches.ts'
import type { Storage } from '../src/storage/storage.ts'
import { requestId } from './request-lines.ts'

type Dependencies = {
  database: Pick<Database, 'inferenceBatches' | 'requestBatches' | 'transaction'>
  storage: Storage
}

const messages: Record<BatchEndReason, string> = {
  cancelled: 'The batch was cancelled before this request was answered.',
  expired: 'The batch expired before this request was answered. Submit it again.',
  failed: 'The batch failed before this request was answered. Submit it again.',
}

export function createRequestBatchEnd({ database, storage }: Dependencies) {
  /** May run twice, even at once: the rows of one try's files commit with the batch's end, and another try removes its own. */
  return async function closeRequestBatch(batch: InferenceBatch): Promise<void> {
    const { id, accountId, state, promptsKey, request } = batch
    if (state === 'running' && request.requests) {
      const reason = (await database.requestBatches.freeze(id)) ?? 'failed'
      const { output, errors } = request.requests
      const written = await writeFile(batch, output, 'output', linesOf(batch, 'values'))
      const files = {
        output: written,
        errors: await writeFile(batch, errors, 'errors', errorLines(batch, reason)).catch(async (error: unknown) => {
          await removeFiles([written])
          throw error
        }),
      }
      // When the commit's answer is lost, the files stay: the batch may name them.
      const isOurs = await database.transaction((tx) => tx.requestBatches.close({ id, accountId }, files))
      if (!isOurs) await removeFiles([files.output, files.errors])
    }
    await storage.remove([promptsKey])
  }

  async function removeFiles(files: readonly (WrittenFile | null)[]) {
    await storage.remove(files.flatMap((file) => file?.key ?? []))
  }

  async function writeFile(
    { id, accountId }: InferenceBatch,
    file: BatchFile,
    what: string,
    lines: AsyncGenerator<Buffer>,
  ): Promise<WrittenFile | null> {
    const first = await lines.next()
    if (first.done) return null
    // Each try has its own key, so that a slow one cannot overwrite the files of another.
    const key = storageKeys.inline(accountId, file.versionId, `${what}-${randomUUID()}.jsonl`)
    const sizeBytes = await storage.writeStream(key, startingWith(first.value, lines), cancellationSignal())
    return { ...file, key, name: `batch_${id.replaceAll('-', '')}_${what}.jsonl`, sizeBytes }
  }

  async function* linesOf({ id, request }: InferenceBatch, column: 'values' | 'errors'): AsyncGenerator<Buffer> {
    for (const chunk of request.chunks.keys()) {
      const results = await database.inferenceBatches.findChunk({ batchId: id, start: chunk * request.chunkSize })
      if (results?.[column]) yield Buffer.from(results[column])
    }
  }

  /** The refused lines, and in place of a chunk that never ran its lines with the reason. */
  async function* errorLines(batch: InferenceBatch, reason: BatchEndReason): AsyncGenerator<Buffer> {
    const { id, request, promptsKey } = batch
    for (const [chunk, { offset, sizeBytes }] of request.chunks.entries()) {
      const start = chunk * request.chunkSize
      const results = await database.inferenceBatches.findChunk({ batchId: id, start })
      if (results) {
        if (results.errors) yield Buffer.from(results.errors)
        continue
      }
      const { bytes } = await storage.readRange(promptsKey, { offset, limit: sizeBytes })
      const lines = requestLines(bytes.toString())
      for (let at = 0; at < chunkLength(batch, chunk); at++)
        yield Buffer.from(`${JSON.stringify(undone(requestId(id, start + at), lines[at] ?? '', reason))}\n`)
    }
  }
}

async function* startingWith(first: Buffer, rest: AsyncIterable<Buffer>) {
  yield first
  yield* rest
}

const undone = (id: string, line: string, reason: BatchEndReason) => ({
  id,
  custom_id: customIdOf(line),
  response: null,
  error: { code: `batch_${reason}`, message: messages[reason] },
})

function customIdOf(line: string): string | null {
  try {
    const { custom_id: id } = JSON.parse(line) as { custom_id?: unknown }
    return typeof id === 'string' ? id : null
  } catch {
    return null
  }
}
