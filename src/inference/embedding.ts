import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { Adapter } from './adapters.ts'
import { concurrencyFor, runConcurrently, splitIntoChunks } from './chunks.ts'
import { requestEmbeddings } from './engine-client.ts'
import { naming } from './input-errors.ts'
import type { Meter } from './meter.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import { maxTextCharacters, workOf } from './text-bounds.ts'

export type EmbeddingInput = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  accountId: string
  texts: readonly string[]
  signal: AbortSignal
  meter?: Meter | undefined
}

const chunkSize = 256

/** @returns a normalised vector of finite numbers for each text, in order */
export async function embed(servers: Servers, input: EmbeddingInput): Promise<number[][]> {
  const { baseModel, adapter, accountId, texts, signal, meter } = input
  // The engine reads as many tokens as the context holds. `toWellFormed` mends a surrogate pair that the cut may have split.
  const longest = maxTextCharacters(baseModel.contextLength)
  const rows = texts.map((text, index) => ({
    index,
    text: text.length > longest ? text.slice(0, longest).toWellFormed() : text,
  }))
  const vectors: number[][] = []
  await runConcurrently(
    splitIntoChunks(rows, chunkSize, ({ text }) => text.length),
    signal,
    async (chunk, chunkSignal) => {
      const chunkTexts = chunk.map(({ text }) => text)
      const { vectors: answer, usage } = await naming(baseModel, chunk, () =>
        onServer(
          servers,
          { baseModel, adapter, accountId, meter },
          workOf(chunkTexts, 0),
          chunkSignal,
          (endpoint, model, callSignal) => requestEmbeddings(endpoint, { model, texts: chunkTexts }, callSignal),
        ),
      )
      meter?.countTokens(usage)
      chunk.forEach(({ index }, at) => (vectors[index] = answer[at] as number[]))
    },
    concurrencyFor(servers.endpoints.replicaCount(baseModel.name)),
  )
  return vectors
}
