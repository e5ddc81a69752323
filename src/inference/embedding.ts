import { maxEmbeddingTokens, type CatalogueEntry } from '../domain/catalogue.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import { accept, type Servers } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { concurrencyFor, runConcurrently, splitIntoChunks } from './chunks.ts'
import { requestEmbeddings } from './engine-client.ts'
import { naming, requireWellFormed, textTooLong } from './input-errors.ts'
import type { ModelRequest } from './request.ts'
import { workOf } from './text-bounds.ts'

export type EmbeddingRequest = ModelRequest & { texts: readonly string[]; onLong: OnLong }

/**
 * A text of more than `maxEmbeddingTokens` is refused by its position. `cut` reads only one context of each text. `read`
 * reads texts of any length: the caller has bounded their characters.
 */
export type OnLong = 'refuse' | 'cut' | 'read'

const chunkSize = 256
/** The largest number that the engine takes. */
const anyLength = 2 ** 31

/**
 * @returns a normalised vector of finite numbers for each text, in order
 * @throws ServiceError invalid_input naming a text by its position, quota_exceeded, unavailable; the signal's reason
 */
export async function embed(servers: Servers, asked: EmbeddingRequest): Promise<number[][]> {
  requireWellFormed(asked.texts)
  if (asked.texts.length === 0) return []
  using request = accept(servers, asked, asked.texts.length)
  const { baseModel, texts, signal, meter, room } = request
  const maxTokens = tokenLimit(request)
  const bounded = boundTexts(baseModel, texts, maxTokens)
  const vectors: number[][] = []
  const chunks = splitIntoChunks([...bounded.keys()], chunkSize, (row) => bounded[row]?.length ?? 0)
  const ask = async (rows: number[], chunkSignal: AbortSignal) => {
    const part = rows.map((row) => bounded[row] as string)
    const call = requestEmbeddings({ texts: part, maxTokens }, room)
    try {
      const answer = await callWithFailover(request, workOf(part, 0), chunkSignal, call)
      meter?.countTokens(answer.usage)
      rows.forEach((row, at) => (vectors[row] = answer.vectors[at] as number[]))
    } catch (error) {
      throw naming(error, baseModel, { rows, tooLong: textTooLong })
    }
  }
  await runConcurrently(chunks, signal, ask, concurrencyFor(servers.endpoints.replicaCount(baseModel.name)))
  return vectors
}

/** @returns null to cut each text to one context */
function tokenLimit({ baseModel, onLong }: EmbeddingRequest): number | null {
  if (onLong === 'refuse') return maxEmbeddingTokens(baseModel)
  // vLLM reads no text in windows.
  return onLong === 'read' && baseModel.engine !== 'vllm' ? anyLength : null
}

/** Saves the engine from tokenizing what is certainly too long. */
function boundTexts(baseModel: CatalogueEntry, texts: readonly string[], maxTokens: number | null): string[] {
  const longest = maxTextCharacters(maxTokens ?? baseModel.contextLength)
  return texts.map((text, index) => {
    if (text.length <= longest) return text
    if (maxTokens !== null) throw textTooLong(baseModel, index)
    // `toWellFormed` mends a surrogate pair that the cut may have split.
    return text.slice(0, longest).toWellFormed()
  })
}
