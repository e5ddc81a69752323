// An export in the format "adapter" is a published model's own files, so it needs no row: its id names the format and the model.
import { isModelId } from '../../domain/model-reference.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { linkFiles } from './download.ts'
import { findTunedModel, lookUpTuned, rowsOf } from './find-tuned.ts'

export type ModelExport = { id: string; modelName: string; format: 'adapter'; status: 'COMPLETED' }

const prefix = 'adapter-'

/** A repeat gives the same export. @throws ServiceError model_not_found, invalid_input for a base model */
export async function exportModel({ ctx, input }: { ctx: Ctx; input: { name: string } }): Promise<ModelExport> {
  return exportOf(await findTunedModel(ctx, input.name))
}

/**
 * Finds the export of a model by any of its names, also by one that has moved on to another version, and makes short-lived URLs.
 * @throws ServiceError not_found
 */
export async function findExport({
  ctx,
  input: { name, id },
}: {
  ctx: Ctx
  input: { name: string; id: string }
}): Promise<ModelExport & Awaited<ReturnType<typeof linkFiles>>> {
  const model = await findExported(ctx, name, id)
  if (!model) throw new ServiceError('not_found', `The model "${name}" has no export with this id.`)
  return { ...exportOf(model), ...(await linkFiles(ctx, model)) }
}

const exportOf = ({ name }: TunedModel): ModelExport => ({
  id: prefix + name,
  modelName: name,
  format: 'adapter',
  status: 'COMPLETED',
})

async function findExported(ctx: Ctx, name: string, id: string): Promise<TunedModel | null> {
  const modelName = id.startsWith(prefix) ? id.slice(prefix.length) : ''
  if (!isModelId(modelName)) return null
  const named = await lookUpTuned(ctx, name)
  // A checkpoint is found by its own name only.
  if (named?.name === modelName) return named
  const given = await ctx.deps.database.modelNames.versionOf(modelName)
  return given?.name === rowsOf(name) ? lookUpTuned(ctx, modelName) : null
}
