import { maxEmbeddingTokens, type CatalogueEntry } from '../domain/catalogue.ts'
import type { Adapter } from './adapters.ts'
import type { AnswerRoom } from '../domain/answer-room.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import { concurrencyFor, runConcurrently, splitIntoChunks } from './chunks.ts'
import { requestEmbeddings } from './engine-client.ts'
import { naming, textTooLong } from './input-errors.ts'
import type { Meter } from './meter.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import { workOf } from './text-bounds.ts'

export type EmbeddingInput = {
  baseModel: CatalogueEntry
  adapter: Adapter | null
  accountId: string
  texts: readonly string[]
  onLong: OnLong
  signal: AbortSignal
  meter?: Meter | undefined
  /** Bounds the bytes of the engines' answers. */
  room?: AnswerRoom | undefined
}

/**
 * A text of more than `maxEmbeddingTokens` is refused by its position. `cut` reads only one context of each text. `read`
 * reads texts of any length: the caller has bounded their characters.
 */
export type OnLong = 'refuse' | 'cut' | 'read'

const chunkSize = 256
/** The largest number that the engine takes. */
const anyLength = 2 ** 31

/** @returns a normalised vector of finite numbers for each text, in order */
export async function embed(servers: Servers, input: EmbeddingInput): Promise<number[][]> {
  const { baseModel, adapter, accountId, texts, signal, meter, room } = input
  const maxTokens = tokenLimit(input)
  const rows = boundTexts(baseModel, texts, maxTokens)
  const vectors: number[][] = []
  await runConcurrently(
    splitIntoChunks(rows, chunkSize, ({ text }) => text.length),
    signal,
    async (chunk, chunkSignal) => {
      const chunkTexts = chunk.map(({ text }) => text)
      const ask = () =>
        onServer(
          servers,
          { baseModel, adapter, accountId, meter },
          workOf(chunkTexts, 0),
          chunkSignal,
          (endpoint, model, callSignal) =>
            requestEmbeddings(endpoint, { model, texts: chunkTexts, maxTokens }, callSignal, room),
        )
      const { vectors: answer, usage } = await naming(baseModel, chunk, ask, textTooLong)
      meter?.countTokens(usage)
      chunk.forEach(({ index }, at) => (vectors[index] = answer[at] as number[]))
    },
    concurrencyFor(servers.endpoints.replicaCount(baseModel.name)),
  )
  return vectors
}

/** @returns null to cut each text to one context */
function tokenLimit({ baseModel, onLong }: EmbeddingInput): number | null {
  if (onLong === 'refuse') return maxEmbeddingTokens(baseModel)
  // vLLM reads no text in windows.
  return onLong === 'read' && baseModel.engine !== 'vllm' ? anyLength : null
}

/** Saves the engine from tokenizing what is certainly too long. */
function boundTexts(baseModel: CatalogueEntry, texts: readonly string[], maxTokens: number | null) {
  const longest = maxTextCharacters(maxTokens ?? baseModel.contextLength)
  return texts.map((text, index) => {
    if (text.length <= longest) return { index, text }
    if (maxTokens !== null) throw textTooLong(baseModel, index)
    // `toWellFormed` mends a surrogate pair that the cut may have split.
    return { index, text: text.slice(0, longest).toWellFormed() }
  })
}
