import type { BatchKind, ChunkResults } from './inference-batch.ts'

/** Yields a batch's result as pieces of JSON text. Calls `chunk` in order, and twice when there are finish reasons. */
export async function* batchResultText(
  kind: BatchKind,
  chunk: (index: number) => Promise<ChunkResults | null>,
  { chunkCount, missingCount }: { chunkCount: number; missingCount: number },
): AsyncGenerator<string> {
  const errors: string[] = []
  async function* list(column: 'values' | 'finishReasons') {
    let comma = ''
    for (let index = 0; index < chunkCount; index++) {
      const results = await chunk(index)
      yield comma + (results?.[column] ?? '')
      comma = ','
      if (column === 'values' && results?.errors) errors.push(results.errors)
    }
    if (missingCount > 0) yield comma + Array.from({ length: missingCount }, () => 'null').join(',')
  }
  if (kind === 'embeddings') {
    yield '{"embedding":['
    yield* list('values')
  } else {
    yield '{"outputs":['
    yield* list('values')
    yield '],"finish_reason":['
    yield* list('finishReasons')
  }
  yield errors.length === 0 ? ']}' : `],"errors":[${errors.join(',')}]}`
}
