import { invalidInput } from '../../domain/service-error.ts'
import type { ModelAlias, ModelVersion } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTunedModel, modelNotFound } from './find-tuned.ts'
import { withScores } from './version-scores.ts'

export type ModelDescription = {
  /** Null for a model without a custom name. */
  name: string | null
  versions: ModelVersion[]
  /** The version after which the next page begins; null at the end. */
  next: number | null
  aliases: ModelAlias[]
}

/**
 * Lists the versions of a custom name, newest first, and its aliases. Any other name of a tuned model lists that model alone.
 * @throws ServiceError model_not_found, invalid_input for a base model
 */
export async function describeModel({
  ctx: { deps, accountId },
  ctx,
  input: { name, after, limit },
}: {
  ctx: Ctx
  input: { name: string; after: number | null; limit: number }
}): Promise<ModelDescription> {
  const { modelNames } = deps.database
  if (deps.catalogue.find(name))
    throw invalidInput('name', `"${name}" is a base model. GET /v1/models describes the base models.`)
  if (!(await modelNames.exists(accountId, name))) return describeOne(ctx, name)
  const versions = await modelNames.versions(accountId, name, { before: after, limit })
  const last = versions.at(-1)
  const next = versions.length === limit ? (last?.version ?? null) : null
  return { name, versions: await withScores(ctx, versions), next, aliases: await modelNames.aliases(accountId, name) }
}

async function describeOne(ctx: Ctx, reference: string): Promise<ModelDescription> {
  const { modelNames } = ctx.deps.database
  const { name: modelName } = await findTunedModel(ctx, reference)
  const given = await modelNames.versionOf(modelName)
  const version = await modelNames.describe(ctx.accountId, modelName)
  if (!version) throw modelNotFound(reference)
  const aliases = given ? await modelNames.aliases(ctx.accountId, given.name) : []
  return {
    name: given?.name ?? null,
    versions: await withScores(ctx, [version]),
    next: null,
    aliases: aliases.filter((each) => each.version === given?.version),
  }
}
