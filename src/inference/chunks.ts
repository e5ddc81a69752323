// Splits a batch into chunks of the engine's size and runs a few at once. The engine always has the next rows at hand, and a
// large batch never waits for all of its answers in one reply.
import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { SamplingExtras } from '../domain/sampling-extras.ts'
import { followAbort } from './abortable.ts'
import { promptsOf, type CompletionRequest, type RowGroup } from './request.ts'

/** Chunks of one request that run at once: enough to keep several replicas busy. */
const leastConcurrency = 4
/** An engine takes one conversation in a call, so more calls fill its batch. */
const chatsAtOnce = 32
export const concurrencyFor = (replicas: number, input?: CompletionRequest['input']) =>
  Math.max(input?.kind === 'chat' ? chatsAtOnce : leastConcurrency, 2 * replicas + 2)
const maxChunkCharacters = 1 << 20
/** Log probabilities of one answer of the engine, which is parsed at once: a few megabytes of JSON. */
const maxLogprobs = 50_000

/** The rows of each call of the engine. */
export function layOutCalls(
  { input, baseModel, sampling: { extras = null } }: CompletionRequest<unknown>,
  groups: readonly RowGroup[],
): RowGroup[] {
  const lengths = promptsOf(input).map(({ length }) => length)
  return groups.flatMap(({ rows, ...shared }) => {
    const size = input.kind === 'chat' ? 1 : rowsOfCall(baseModel, shared.maxTokens, extras)
    return splitIntoChunks(rows, size, (row) => lengths[row] ?? 0).map((part) => ({ ...shared, rows: part }))
  })
}

function rowsOfCall(
  { maxBatch, contextLength }: CatalogueEntry,
  maxTokens: number,
  extras: SamplingExtras | null,
): number {
  const rows = Math.min(Math.max(maxBatch, 16), 256)
  const { logprobs, top_logprobs, echo } = extras ?? {}
  if (logprobs === undefined) return rows
  const ofToken = 1 + (typeof logprobs === 'number' ? logprobs : (top_logprobs ?? 0))
  const tokens = echo ? contextLength : Math.min(maxTokens, contextLength)
  return Math.min(rows, Math.max(1, Math.floor(maxLogprobs / (ofToken * tokens))))
}

/** Chunks of at most `size` items and about a million characters. Order is kept. */
export function splitIntoChunks<T>(items: readonly T[], size: number, lengthOf: (item: T) => number): T[][] {
  const chunks: T[][] = []
  let characters = 0
  for (const item of items) {
    const last = chunks.at(-1)
    characters += lengthOf(item)
    if (last && last.length < size && characters <= maxChunkCharacters) {
      last.push(item)
    } else {
      chunks.push([item])
      characters = lengthOf(item)
    }
  }
  return chunks
}

/** Runs the tasks, a few at once. The first failure aborts the others and is thrown once they have ended. */
export async function runConcurrently<T>(
  items: readonly T[],
  signal: AbortSignal,
  run: (item: T, signal: AbortSignal) => Promise<void>,
  concurrency: number = leastConcurrency,
): Promise<void> {
  using own = followAbort(signal)
  const queue = items.values()
  const drain = async () => {
    try {
      for (const item of queue) {
        own.signal.throwIfAborted()
        await run(item, own.signal)
      }
    } catch (error) {
      own.abort(error)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, drain))
  own.signal.throwIfAborted()
}
