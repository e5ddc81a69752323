// Durable batches: a request stores prompts or texts, workers process them in chunks, clients read the result by id.
import type { PlainPromptRisk } from './answer-warning.ts'
import type { Chat } from './chat.ts'
import type { ChunkLocation } from './chunk-layout.ts'
import type { ChatOptions } from './learned.ts'
import type { OutputType } from './output-type.ts'

/** A `streaming` batch shows partial texts. */
export type PromptBatchKind = 'completions' | 'embeddings' | 'streaming'
/** The items of `requests` are lines of a file, each a whole request. Those of `chats` are such lines, too: a run of an eval makes and reads them. */
export type BatchKind = PromptBatchKind | 'requests' | 'chats'
export type BatchState = 'running' | 'done' | 'failed'

/** Options of every item; null means the default of a single request. */
export type BatchCompletionInput = {
  dataId: string | null
  specialTokens: boolean
  outputType: OutputType | null
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: string[]
  /** Each item is asked as a chat. Absent: as a plain prompt. */
  chat?: ChatOptions
}

/** A prompt, or a conversation where items are asked as chats. */
export type BatchItem = string | Chat

export type BatchRequest = {
  chunkSize: number
  chunks: ChunkLocation[]
  input: BatchCompletionInput | null
  /** Why its plain prompts may be the wrong form for its model. Absent for none. */
  risk?: PlainPromptRisk
  /** Long texts to embed are cut, not refused. */
  truncate?: boolean
  /** Of a batch of requests. */
  requests?: RequestBatchOptions
  /** Every line of a batch of chats has this `url`. */
  endpoint?: BatchEndpoint
}

export type InferenceBatch = {
  id: string
  accountId: string
  /** Usage is counted for this key. */
  apiKeyId: string
  kind: BatchKind
  modelName: string
  request: BatchRequest
  promptsKey: string
  itemCount: number
  /** The items of chunks that are final. `failedCount` of them were refused, and `emptyCount` have an answer without text. */
  doneCount: number
  failedCount: number
  emptyCount: number
  state: BatchState
  /** Tells the owner why a batch failed; null otherwise. */
  message: string | null
  resultKey: string | null
}

/**
 * The results of one chunk as JSON text without brackets, with the engine's own spelling of numbers. A refused item has the
 * value null, the finish reason `error` and an entry in `errors`.
 * `step` rises while a streaming chunk grows; a final chunk never changes again.
 */
export type ChunkResults = {
  values: string
  finishReasons: string
  step: number
  isFinal: boolean
  errors: string
  errorCount: number
  /** Answers without text; absent for results that are no answers in text. */
  emptyCount?: number
}

/** A batch that is not done this long after its first chunk began fails. Waiting for a turn does not count. */
export const batchAgeLimitMs = 24 * 60 * 60 * 1000

export const inferenceBatchWorkflowPrefix = 'inference-batch-'
export const inferenceBatchWorkflowId = (batchId: string) => `${inferenceBatchWorkflowPrefix}${batchId}`

export const chunkLength = ({ itemCount, request }: Pick<InferenceBatch, 'itemCount' | 'request'>, chunk: number) =>
  Math.min(request.chunkSize, itemCount - chunk * request.chunkSize)

/** The paths that a line may name. */
export const batchEndpoints = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'] as const
export type BatchEndpoint = (typeof batchEndpoints)[number]

type RequestBatchOptions = {
  endpoint: BatchEndpoint
  inputFileId: string
  metadata: Record<string, string> | null
  /** Named when the batch is created, so that writing them again changes nothing. */
  output: BatchFile
  errors: BatchFile
}
/** `id` is the file's id for users, `versionId` its row. */
export type BatchFile = { id: string; versionId: string }

/** Why a batch of requests ends before its last line. */
export type BatchEndReason = 'cancelled' | 'expired' | 'failed'

/** A batch of requests as its owner sees it. */
export type RequestBatch = InferenceBatch & {
  endReason: BatchEndReason | null
  outputFileId: string | null
  errorFileId: string | null
  createdAt: Date
  startedAt: Date | null
  cancelledAt: Date | null
  finalizingAt: Date | null
  finishedAt: Date | null
}

export const batchStatuses = ['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED'] as const
export type BatchStatus = (typeof batchStatuses)[number]

/** A batch of either API beside the others of its account. */
export type ListedBatch = Pick<InferenceBatch, 'id' | 'apiKeyId' | 'modelName' | 'itemCount' | 'message'> &
  Pick<RequestBatch, 'doneCount' | 'failedCount' | 'outputFileId' | 'errorFileId'> &
  Pick<RequestBatch, 'createdAt' | 'startedAt' | 'cancelledAt' | 'finishedAt'> & {
    kind: PromptBatchKind | 'requests'
    status: BatchStatus
    /** When its turn came; null while it waits. */
    grantedAt: Date | null
  }

export const batchCancelled = 'The batch was cancelled by an operator.'
export const batchTooOld = 'The batch did not finish within its time limit. Submit it again.'

const isBlank = /^[ \t\r]*$/

/** The requests of a file, or of a part that begins and ends with whole lines. Blank lines are none. */
export const requestLines = (text: string) => text.split('\n').filter((line) => !isBlank.test(line))
