import type { OnLong } from '../../inference/embedding.ts'
import type { OnUsage } from '../../inference/meter.ts'
import type { ModelCtx } from '../context.ts'
import { resolveModel } from '../models/resolve.ts'
import { createMeter } from '../usage/meter.ts'

/**
 * Returns one normalised vector per text, in order. `modelName` null means the catalogue's first embedding model. By default
 * a text that is too long is refused.
 * @throws ServiceError model_not_found, invalid_input with the position of the text, quota_exceeded, unavailable
 */
export async function createEmbeddings({
  ctx,
  input: { modelName, texts, onLong = 'refuse' },
  signal,
  onUsage,
}: {
  ctx: ModelCtx
  input: { modelName: string | null; texts: string[]; onLong?: OnLong }
  signal: AbortSignal
  onUsage?: OnUsage | undefined
}): Promise<number[][]> {
  const model = await resolveModel(ctx, modelName ?? ctx.deps.catalogue.defaultEmbeddingModel.name)
  const meter = createMeter(ctx, model, onUsage)
  const vectors = await ctx.deps.inference.embed({ ...model, accountId: ctx.accountId, texts, onLong, signal, meter })
  meter.countPrompts(texts.length)
  return vectors
}
