// The words of this folder: an extreme is a request that one key may send and that is as large as the service takes in one way.
import type { Answer, Ask } from '../accounts.ts'

export type Sent = {
  params?: Record<string, string | number>
  query?: string
  headers?: Record<string, string>
  /** A Buffer is sent as it is. */
  body?: object
}

export type Asker = {
  baseModel: string
  ask: Ask
  /** Sends headers and forms as well. */
  send: (method: string, path: string, sent: Sent) => Promise<Answer>
  signal: AbortSignal
}

export type Extreme = {
  /** What is large. Unique among those of its route. */
  what: string
  sent: (stock: Stock, asker: Asker) => Sent | Promise<Sent>
  /** Waits until the work that the answer promises is done. */
  settle?: (answer: Answer, asker: Asker) => Promise<unknown>
}

/** The objects that requests read: made before the attack, each as large as one account can make it. */
export type Stock = Record<
  | 'completionBatch'
  | 'conversations'
  | 'embeddingBatch'
  | 'embeddingModel'
  | 'eval'
  | 'evalRun'
  | 'evaluation'
  | 'homeDir'
  | 'job'
  | 'key'
  | 'largeFile'
  | 'manyRows'
  | 'modelName'
  | 'response'
  | 'resultFile'
  | 'smallFile'
  | 'spareRows'
  | 'storedRows'
  | 'streamedBatch'
  | 'upload'
  | 'versions'
  | 'webhook'
  | 'wideRows',
  string
>
