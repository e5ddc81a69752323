import { isModelId, parseCheckpointName, parseModelReference, withoutPrefix } from '../../domain/model-reference.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx, ModelCtx } from '../context.ts'
import { findCheckpoint } from './find-checkpoint.ts'

export const modelNotFound = (name: string) =>
  new ServiceError('model_not_found', `There is no model "${name}". GET /v1/models lists the models that you can use.`)

/** Finds a tuned model or a checkpoint of the account by any of its names. One query answers, so a moving alias leads to one version or the other. */
export async function lookUpTuned(ctx: ModelCtx, name: string): Promise<TunedModel | null> {
  if (parseCheckpointName(name)) return findCheckpoint(ctx, name)
  const { deps, accountId } = ctx
  const { models } = deps.database
  const inner = withoutPrefix(name)
  // A custom name may itself begin with "ft:".
  const given = isModelId(inner) ? null : await models.find(accountId, name)
  return given ?? (inner === name && !isModelId(inner) ? null : models.find(accountId, inner))
}

/** Finds a tuned model of the account. @throws ServiceError model_not_found, invalid_input for a base model */
export async function findTunedModel(ctx: Ctx, name: string): Promise<TunedModel> {
  // The catalogue's names win.
  if (ctx.deps.catalogue.find(name))
    throw invalidInput('name', `"${name}" is a base model. This request needs a tuned model.`)
  const tuned = await lookUpTuned(ctx, name)
  if (!tuned) throw modelNotFound(name)
  return tuned
}

/** The id under which rows of a model are stored: all versions of a name share them. */
export const rowsOf = (modelName: string) => parseModelReference(withoutPrefix(modelName)).name

/**
 * Fixes which model a request means, for work that asks more than once.
 * @returns the model's id and where its rows are, or an unknown name as it is
 */
export async function pinModel(ctx: ModelCtx, name: string): Promise<{ modelName: string; dataId: string | null }> {
  if (ctx.deps.catalogue.find(name) || parseCheckpointName(name)) return { modelName: name, dataId: null }
  const inner = withoutPrefix(name)
  if (isModelId(inner)) return { modelName: inner, dataId: null }
  const tuned = await lookUpTuned(ctx, name)
  return tuned ? { modelName: tuned.name, dataId: rowsOf(name) } : { modelName: name, dataId: null }
}
