// The activities of a batch. A chunk may run twice; its results count once.
import { ApplicationFailure, Context } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { batchResultText } from '../src/domain/batch-result.ts'
import {
  batchCancelled,
  batchTooOld,
  chunkLength,
  requestLines,
  type BatchItem,
  type InferenceBatch,
} from '../src/domain/inference-batch.ts'
import { ServiceError, type InputIssue } from '../src/domain/service-error.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { answerChunk, failureOf, type Infer } from './batch-answers.ts'
import { createRequestBatchEnd } from './request-batches.ts'
import { boundedTries } from './bounded-tries.ts'
import { withHeartbeat } from './heartbeat.ts'

export type InferenceBatchDependencies = {
  database: Pick<Database, 'inferenceBatches' | 'requestBatches' | 'transaction' | 'check'>
  storage: Storage
  infer: Infer
}

export type InferenceBatchActivities = ReturnType<typeof createInferenceBatchActivities>

type ChunkInput = { batchId: string; chunk: number; ageLimitMs: number }

/** A larger result moves to the object store. */
const maxResultBytes = 1024 * 1024

export function createInferenceBatchActivities({ database, storage, infer }: InferenceBatchDependencies) {
  const { inferenceBatches, requestBatches } = database
  const closeRequestBatch = createRequestBatchEnd({ database, storage })

  return {
    /** @throws ApplicationFailure Refused when no retry can help, ModelUnavailable when a later one may */
    runBatchChunk: ({ batchId, chunk, ageLimitMs }: ChunkInput): Promise<void> =>
      boundedTries(tries(batchId, 'A part of the batch'), async () => {
        const batch = await existing(batchId)
        const start = chunk * batch.request.chunkSize
        if (batch.state !== 'running' || (await inferenceBatches.isChunkFinal({ batchId, start }))) return
        const ageMs = await inferenceBatches.begin(batchId)
        if (ageMs === null) return
        await withinAge(ageLimitMs - ageMs, (signal) => answerAndSave(batch, chunk, signal))
      }),

    /** @throws ApplicationFailure Refused when every item was refused */
    finishBatch: ({ batchId }: { batchId: string }): Promise<void> =>
      boundedTries(tries(batchId, 'Storing the result of the batch'), async () => {
        const batch = await existing(batchId)
        if (batch.kind === 'requests') return closeRequestBatch(batch)
        if (batch.state === 'running' && batch.kind === 'chats') {
          // The evaluation reads the lines from their chunks.
          await database.transaction((tx) => tx.inferenceBatches.finish(batchId, null))
        } else if (batch.state === 'running') {
          const { sizeBytes, errorCount } = await inferenceBatches.measureResults(batchId)
          if (errorCount > 0 && errorCount === batch.itemCount) throw await allRefused(batchId)
          const resultKey = sizeBytes > maxResultBytes ? await storeResult(batch) : null
          const isOurs = await database.transaction((tx) => tx.inferenceBatches.finish(batchId, resultKey))
          if (!isOurs && resultKey !== null) await storage.remove([resultKey])
        }
        await storage.remove([batch.promptsKey])
      }),

    failBatch: ({ batchId, message }: { batchId: string; message: string }): Promise<void> =>
      withHeartbeat(async () => {
        const batch = await existing(batchId)
        const reason = message === batchTooOld ? 'expired' : message === batchCancelled ? 'cancelled' : 'failed'
        if (batch.kind === 'requests') {
          await requestBatches.requestEnd(batchId, reason, message)
          return closeRequestBatch(batch)
        }
        await database.transaction((tx) => tx.inferenceBatches.fail(batchId, message, reason))
        await storage.remove([batch.promptsKey])
      }),
  }

  /** A deleted account takes its batches along: the failure is final. */
  async function existing(batchId: string): Promise<InferenceBatch> {
    return inferenceBatches.get(batchId).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found')
        throw ApplicationFailure.nonRetryable(error.message, 'Refused')
      throw error
    })
  }

  async function answerAndSave(batch: InferenceBatch, chunk: number, signal: AbortSignal) {
    const position = { batchId: batch.id, start: chunk * batch.request.chunkSize, itemCount: chunkLength(batch, chunk) }
    const items = await readItems(batch, chunk)
    const results = answerChunk(infer, batch, { start: position.start, items, signal })
    for (;;) {
      const { value, done } = await results.next().catch(async (error: unknown) => {
        if (signal.aborted) throw error
        // Without the database no model can be found: throws first, so that the model is not blamed.
        await database.check()
        throw failureOf(error)
      })
      if (done) return
      await database.transaction((tx) => tx.inferenceBatches.saveChunk(position, value))
    }
  }

  async function readItems({ promptsKey, request, kind }: InferenceBatch, chunk: number): Promise<BatchItem[]> {
    const location = request.chunks[chunk]
    if (!location) throw ApplicationFailure.nonRetryable(`The batch has no chunk ${chunk}.`)
    const { bytes } = await storage.readRange(promptsKey, { offset: location.offset, limit: location.sizeBytes })
    if (bytes.length < location.sizeBytes)
      throw ApplicationFailure.nonRetryable(
        'The prompts of the batch are missing from the object store. Submit the batch again.',
        'Refused',
      )
    return kind === 'requests' ? requestLines(bytes.toString()) : (JSON.parse(bytes.toString()) as BatchItem[])
  }

  async function allRefused(batchId: string): Promise<ApplicationFailure> {
    const { errors } = (await inferenceBatches.findChunk({ batchId, start: 0 })) ?? {}
    const [first] = JSON.parse(`[${errors ?? ''}]`) as InputIssue[]
    return ApplicationFailure.nonRetryable(first?.message ?? 'Every item of the batch was refused.', 'Refused')
  }

  async function storeResult(batch: InferenceBatch): Promise<string> {
    const { id, accountId, kind, request } = batch
    // Each try has its own key, so that an interrupted upload cannot mix with another.
    const key = storageKeys.batch(accountId, id, `result-${randomUUID()}.json`)
    const read = (chunk: number) => inferenceBatches.findChunk({ batchId: id, start: chunk * request.chunkSize })
    const text = batchResultText(kind, read, { chunkCount: request.chunks.length, missingCount: 0 })
    await storage.write(key, Readable.from(bytesOf(text), { objectMode: false }))
    return key
  }
}

const tries = (batchId: string, what: string) => ({ id: `batch-${batchId}`, what, type: 'Refused' }) as const

/** The signal also aborts when the activity is cancelled. */
async function withinAge(leftMs: number, work: (signal: AbortSignal) => Promise<void>) {
  const late = AbortSignal.timeout(Math.max(0, Math.ceil(leftMs)))
  try {
    if (leftMs <= 0) throw tooOld()
    await work(AbortSignal.any([Context.current().cancellationSignal, late]))
  } catch (error) {
    throw late.aborted ? tooOld() : error
  }
}

const tooOld = () => ApplicationFailure.nonRetryable(batchTooOld, 'Refused')

async function* bytesOf(texts: AsyncIterable<string>) {
  for await (const text of texts) yield Buffer.from(text)
}
