import type { ModelCtx } from './context.ts'
import { resolveModel } from './resolve-model.ts'

/**
 * One normalised vector a text, in order. `modelName` null: the catalogue's first embedding model.
 * @throws ServiceError model_not_found, invalid_input naming a text by its position, unavailable
 */
export async function embed({
  ctx,
  input: { modelName, texts },
  signal,
}: {
  ctx: ModelCtx
  input: { modelName: string | null; texts: string[] }
  signal: AbortSignal
}): Promise<number[][]> {
  const model = await resolveModel(ctx, modelName ?? ctx.deps.catalogue.defaultEmbeddingModel.name)
  return ctx.deps.inference.embed({ ...model, texts, signal })
}
