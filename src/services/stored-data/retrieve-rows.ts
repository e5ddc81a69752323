import type { Collection } from '../../repositories/stored-rows.ts'
import type { ModelCtx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'

/** Rows per prompt, and their minimum cosine similarity to it, measured in docs/retrieval.md. */
const maxRows = 3
const minSimilarity = 0.3
/** The question is at the end of a prompt. A longer text would blur it. */
const queryCharacters = 1000
const promptsPerSearch = 100

/**
 * Finds the stored rows nearest to each prompt, nearest first.
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
  const vectors = await createEmbeddings({ ctx, input: { modelName: null, texts, onLong: 'read' }, signal })
  const found: string[][] = []
  for (let start = 0; start < vectors.length; start += promptsPerSearch) {
    signal.throwIfAborted()
    const some = vectors.slice(start, start + promptsPerSearch)
    found.push(
      ...(await ctx.deps.database.storedRows.search(place, some, { limit: maxRows, similarity: minSimilarity })),
    )
  }
  return found
}
