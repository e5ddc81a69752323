import type { Collection } from '../../repositories/stored-rows.ts'
import type { ModelCtx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'

/** Rows per prompt, and their minimum cosine similarity to it, measured in docs/retrieval.md. */
const maxRows = 3
const minSimilarity = 0.3
/** The question is at the end of a prompt. A longer text would blur it. */
const queryCharacters = 1000

/**
 * Finds the stored rows nearest to each prompt, nearest first.
 * @throws ServiceError unavailable while the embedder starts, and as `searchRows`
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
  const embed = () => createEmbeddings({ ctx, input: { modelName: null, texts, onLong: 'read' }, signal })
  const found = await ctx.deps.searchRows(place, embed, { limit: maxRows, signal })
  return found.map((rows) => rows.filter(({ similarity }) => similarity >= minSimilarity).map(({ text }) => text))
}
