// Durable batches: prompts or texts that are accepted at once, worked off in chunks, and read by their id.
import type { OutputType } from './output-type.ts'

/** `streaming` shows its texts while they grow. */
export type BatchKind = 'completions' | 'embeddings' | 'streaming'
export type BatchState = 'running' | 'done' | 'failed'

/** What is asked of each item; null is the default of a single request. */
export type BatchCompletionInput = {
  dataId: string | null
  outputType: OutputType | null
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: string[]
}

/** Where a chunk's items lie in the object of all items, as a JSON array. */
export type ChunkLocation = { offset: number; sizeBytes: number }

export type BatchRequest = { chunkSize: number; chunks: ChunkLocation[]; input: BatchCompletionInput | null }

export type InferenceBatch = {
  id: string
  accountId: string
  /** Who asked; null for those of the release before. */
  apiKeyId: string | null
  kind: BatchKind
  modelName: string
  request: BatchRequest
  promptsKey: string
  itemCount: number
  state: BatchState
  /** Of a failed one: a sentence for its owner. */
  message: string | null
  resultKey: string | null
}

/**
 * The results of one chunk as pieces of JSON text, without brackets: as the engine wrote them, numbers and order included.
 * `step` rises while a streaming chunk grows; a final one never changes again.
 */
export type ChunkResults = { values: string; finishReasons: string; step: number; isFinal: boolean }

/** One activity's work: long enough to keep an engine busy, short enough to lose. */
export const chunkSize = 128

/** From its start on; what is not done by then fails, also when its turn never came. */
export const batchAgeLimitMs = 24 * 60 * 60 * 1000

export const inferenceBatchWorkflowPrefix = 'inference-batch-'
export const inferenceBatchWorkflowId = (batchId: string) => `${inferenceBatchWorkflowPrefix}${batchId}`

export const chunkLength = ({ itemCount, request }: Pick<InferenceBatch, 'itemCount' | 'request'>, chunk: number) =>
  Math.min(request.chunkSize, itemCount - chunk * request.chunkSize)
