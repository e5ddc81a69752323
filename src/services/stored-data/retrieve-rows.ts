import type { Collection } from '../../repositories/stored-rows.ts'
import type { ModelCtx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'

/** Rows of a prompt, and the least cosine similarity that one must have to it (docs/retrieval.md has the measurements). */
const maxRows = 3
const leastSimilarity = 0.3
/** What a prompt asks for stands at its end, and the embedder reads no more than this. */
const queryCharacters = 1000
const promptsPerSearch = 100

/**
 * The stored rows that matter to each prompt, nearest first.
 * @throws ServiceError unavailable while the embedder starts
 */
export async function retrieveRows({
  ctx,
  place,
  prompts,
  signal,
}: {
  ctx: ModelCtx
  place: Collection
  prompts: readonly string[]
  signal: AbortSignal
}): Promise<string[][]> {
  const texts = prompts.map((prompt) => prompt.slice(-queryCharacters).toWellFormed())
  const vectors = await createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  const found: string[][] = []
  for (let start = 0; start < vectors.length; start += promptsPerSearch) {
    signal.throwIfAborted()
    const some = vectors.slice(start, start + promptsPerSearch)
    found.push(
      ...(await ctx.deps.database.storedRows.search(place, some, { limit: maxRows, similarity: leastSimilarity })),
    )
  }
  return found
}
