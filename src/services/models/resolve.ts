import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { Learned } from '../../domain/learned.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { ModelCtx } from '../context.ts'
import { lookUpTuned, modelNotFound } from './find-tuned.ts'

export type ResolvedModel = {
  baseModel: CatalogueEntry
  /** Null for a base model. `files` presigns new URLs on each call. */
  adapter: {
    name: string
    files: () => Promise<{ name: string; url: string; sizeBytes: number; sha256: string }[]>
  } | null
  /** Null for a base model, and for a model of an older release. */
  learned: Learned | null
}

/**
 * Finds a base model by its name or alias, or a tuned model of the account by any of its names.
 * @throws ServiceError model_not_found
 */
export async function resolveModel(ctx: ModelCtx, name: string): Promise<ResolvedModel> {
  const { catalogue } = ctx.deps
  const entry = catalogue.find(name)
  if (entry) return { baseModel: entry, adapter: null, learned: null }
  const tuned = await lookUpTuned(ctx, name)
  const baseModel = tuned && catalogue.find(tuned.baseModel)
  if (tuned && baseModel) {
    const adapter = { name: tuned.name, files: () => presignFiles(ctx, tuned) }
    return { baseModel, adapter, learned: tuned.learned ?? null }
  }
  if (!tuned) throw modelNotFound(name)
  throw new ServiceError(
    'model_not_found',
    `The model "${name}" is tuned from ${tuned.baseModel}, which this service no longer serves.`,
  )
}

function presignFiles({ deps: { storage } }: ModelCtx, { files }: TunedModel) {
  return Promise.all(
    files.map(async ({ name, key, sizeBytes, sha256 }) => ({
      name,
      url: await storage.presignPodGet(key),
      sizeBytes,
      sha256,
    })),
  )
}
