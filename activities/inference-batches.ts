// The activities of a batch. A chunk may run twice; its results count once.
import { ApplicationFailure, Context } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { batchResultText } from '../src/domain/batch-result.ts'
import {
  chunkLength,
  type BatchCompletionInput,
  type ChunkResults,
  type InferenceBatch,
} from '../src/domain/inference-batch.ts'
import { ServiceError } from '../src/domain/service-error.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { withHeartbeat } from './heartbeat.ts'
import { partialCompletions, type Completions } from './partial-completions.ts'

type Asker = Pick<InferenceBatch, 'accountId' | 'apiKeyId'>
type Infer = {
  complete(
    input: Asker & BatchCompletionInput & { modelName: string; prompts: string[] },
    signal: AbortSignal,
  ): Promise<Completions>
  embed(
    input: Asker & { modelName: string; texts: string[]; onLong: 'cut' | 'refuse' },
    signal: AbortSignal,
  ): Promise<number[][]>
}

export type InferenceBatchDependencies = {
  database: Pick<Database, 'inferenceBatches' | 'transaction' | 'check'>
  storage: Storage
  infer: Infer
}

export type InferenceBatchActivities = ReturnType<typeof createInferenceBatchActivities>

/** A larger result moves to the object store. */
const maxResultBytes = 1024 * 1024

export function createInferenceBatchActivities({ database, storage, infer }: InferenceBatchDependencies) {
  const { inferenceBatches } = database

  return {
    /** @throws ApplicationFailure Refused when no retry can help, ModelUnavailable when a later one may */
    runBatchChunk: ({ batchId, chunk }: { batchId: string; chunk: number }): Promise<void> =>
      withHeartbeat(async () => {
        const batch = await existing(batchId)
        const start = chunk * batch.request.chunkSize
        if (batch.state !== 'running' || (await inferenceBatches.isChunkFinal({ batchId, start }))) return
        const items = await readItems(batch, chunk)
        const itemCount = chunkLength(batch, chunk)
        for await (const results of answers(batch, items, start))
          await database.transaction((tx) => tx.inferenceBatches.saveChunk({ batchId, start, itemCount }, results))
      }),

    finishBatch: ({ batchId }: { batchId: string }): Promise<void> =>
      withHeartbeat(async () => {
        const batch = await existing(batchId)
        if (batch.state === 'running') {
          const isLarge = (await inferenceBatches.resultsSizeBytes(batchId)) > maxResultBytes
          const resultKey = isLarge ? await storeResult(batch) : null
          const isOurs = await database.transaction((tx) => tx.inferenceBatches.finish(batchId, resultKey))
          if (!isOurs && resultKey !== null) await storage.remove([resultKey])
        }
        await storage.remove([batch.promptsKey])
      }),

    async failBatch({ batchId, message }: { batchId: string; message: string }): Promise<void> {
      await database.transaction((tx) => tx.inferenceBatches.fail(batchId, message))
      await storage.remove([(await existing(batchId)).promptsKey])
    },
  }

  /** A deleted account takes its batches along: the failure is final. */
  async function existing(batchId: string): Promise<InferenceBatch> {
    return inferenceBatches.get(batchId).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found')
        throw ApplicationFailure.nonRetryable(error.message, 'Refused')
      throw error
    })
  }

  async function readItems({ promptsKey, request }: InferenceBatch, chunk: number): Promise<string[]> {
    const location = request.chunks[chunk]
    if (!location) throw ApplicationFailure.nonRetryable(`The batch has no chunk ${chunk}.`)
    const { bytes } = await storage.readRange(promptsKey, { offset: location.offset, limit: location.sizeBytes })
    if (bytes.length < location.sizeBytes)
      throw ApplicationFailure.nonRetryable(
        'The prompts of the batch are missing from the object store. Submit the batch again.',
        'Refused',
      )
    return JSON.parse(bytes.toString()) as string[]
  }

  /** Yields the final results; before them, for a streaming batch, shorter texts. */
  async function* answers(batch: InferenceBatch, items: string[], start: number): AsyncGenerator<ChunkResults> {
    const { accountId, apiKeyId, modelName, kind, request } = batch
    const signal = Context.current().cancellationSignal
    if (request.input === null) {
      const vectors = await asked(start, signal, () =>
        infer.embed(
          { accountId, apiKeyId, modelName, texts: items, onLong: request.truncate ? 'cut' : 'refuse' },
          signal,
        ),
      )
      yield { values: unbracketed(vectors), finishReasons: '', step: 0, isFinal: true }
      return
    }
    const input = { ...request.input, accountId, apiKeyId, modelName, prompts: items }
    const complete = (maxTokens: number | null) =>
      asked(start, signal, () => infer.complete({ ...input, maxTokens }, signal))
    let step = 0
    if (kind === 'streaming')
      for await (const partial of partialCompletions(input, complete)) yield resultsOf(partial, step++, false)
    yield resultsOf(await complete(input.maxTokens), step, true)
  }

  async function asked<T>(start: number, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted) throw error
      if (error instanceof ServiceError && !retryable.includes(error.code))
        throw ApplicationFailure.nonRetryable(inBatch(error, start), 'Refused')
      // Without the database no model can be found: throws first, so that the model is not blamed.
      await database.check()
      const message = error instanceof ServiceError ? error.message : 'The model failed to answer.'
      throw ApplicationFailure.create({ message, type: 'ModelUnavailable', nonRetryable: true, cause: asError(error) })
    }
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

const retryable: readonly ServiceError['code'][] = ['unavailable', 'quota_exceeded']

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)))

/** Turns an item's position in its chunk into its position in the batch. */
function inBatch({ message, issues }: ServiceError, start: number): string {
  const position = /^prompt\[(\d+)\]$/.exec(issues[0]?.path ?? '')?.[1]
  return position === undefined
    ? message
    : message.replace(`position ${position}`, `position ${start + Number(position)}`)
}

const unbracketed = (values: readonly unknown[]) => JSON.stringify(values).slice(1, -1)

const resultsOf = ({ outputs, finishReasons }: Completions, step: number, isFinal: boolean): ChunkResults => ({
  values: unbracketed(outputs),
  finishReasons: unbracketed(finishReasons),
  step,
  isFinal,
})

async function* bytesOf(texts: AsyncIterable<string>) {
  for await (const text of texts) yield Buffer.from(text)
}
