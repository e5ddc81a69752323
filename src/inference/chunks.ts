// Splits a batch into chunks of the engine's size and runs a few at once. The engine always has the next rows at hand, and a
// large batch never waits for all of its answers in one reply.
import { followAbort } from './abortable.ts'

/** Chunks of one request that run at once: enough to keep several replicas busy. */
const leastConcurrency = 4
export const concurrencyFor = (replicas: number) => Math.max(leastConcurrency, 2 * replicas + 2)
const maxChunkCharacters = 1 << 20

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
