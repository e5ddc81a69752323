import { aliasPattern } from '../../domain/model-reference.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { modelNotFound } from './find-tuned.ts'

/** Bounds the answers that list them all. */
const maxAliases = 100

type AliasName = { name: string; alias: string }

/**
 * Lets an alias lead to a version. Requests that have begun keep the old one. A repeat changes nothing.
 * @throws ServiceError model_not_found, invalid_input, conflict when the name has too many
 */
export async function setAlias({ ctx, input }: { ctx: Ctx; input: AliasName & { version: number } }) {
  const { name, alias, version } = input
  requireAlias(alias)
  refuseBaseModel(ctx, name)
  return ctx.deps.database.transaction(async ({ modelNames, auditEvents }) => {
    if (!(await modelNames.lock(ctx.accountId, name))) throw modelNotFound(name)
    const aliases = await modelNames.aliases(ctx.accountId, name)
    const previous = aliases.find((each) => each.alias === alias)
    if (!previous && aliases.length >= maxAliases)
      throw new ServiceError('conflict', `"${name}" has ${maxAliases} aliases, which is the limit. Delete one first.`)
    const modelName = await modelNames.setAlias(ctx.accountId, name, alias, version)
    if (modelName === null) throw modelNotFound(`${name}@${version}`)
    await recordAudit({ auditEvents }, ctx, 'model.alias', `${name}@${alias} -> ${version}`)
    return { name, alias, version, modelName, previousVersion: previous?.version ?? null }
  })
}

/** @throws ServiceError model_not_found, invalid_input */
export async function deleteAlias({ ctx, input: { name, alias } }: { ctx: Ctx; input: AliasName }) {
  refuseBaseModel(ctx, name)
  await ctx.deps.database.transaction(async ({ modelNames, auditEvents }) => {
    await modelNames.lock(ctx.accountId, name)
    if (!(await modelNames.deleteAlias(ctx.accountId, name, alias))) throw modelNotFound(`${name}@${alias}`)
    await recordAudit({ auditEvents }, ctx, 'model.unalias', `${name}@${alias}`)
  })
}

function requireAlias(alias: string) {
  if (!aliasPattern.test(alias))
    throw invalidInput(
      'alias',
      'alias must begin with a letter and have at most 64 letters, digits, dots, hyphens and underscores.',
    )
}

function refuseBaseModel(ctx: Ctx, name: string) {
  if (ctx.deps.catalogue.find(name))
    throw invalidInput('name', `"${name}" is a base model. Only names of tuned models have aliases.`)
}
