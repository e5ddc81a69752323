// An export in the format "adapter" is a published model's own files, so it needs no row: its id names the format and the model.
// A merged export has a row and is made in the background: merge.ts.
import { isUuid } from '../../domain/identifiers.ts'
import type { ExportFormat, ExportStatus } from '../../domain/model-export.ts'
import { isModelId } from '../../domain/model-reference.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { readWaits } from '../durable-work/wait.ts'
import type { Idempotency } from '../idempotency.ts'
import { linkFiles } from './download.ts'
import { findTunedModel, lookUpTuned, rowsOf } from './find-tuned.ts'
import { linkMergedFiles, mergeModel } from './merge.ts'

export type Exported = {
  id: string
  modelName: string
  format: ExportFormat
  status: ExportStatus
  /** Why a merged export waits. */
  statusReason?: string | null
  /** Why a merged export waits or failed. */
  message?: string | null
}
type LinkedExport = Exported & Awaited<ReturnType<typeof linkFiles>>

const prefix = 'adapter-'

/**
 * A repeat gives the same export.
 * @throws ServiceError model_not_found, invalid_input for a base model; of a merged one also conflict, quota_exceeded
 */
export async function exportModel({
  ctx,
  input: { name, format },
  idempotency,
}: {
  ctx: Ctx
  input: { name: string; format: ExportFormat }
  idempotency: Idempotency
}): Promise<Exported> {
  if (format === 'adapter') return adapterOf((await findTunedModel(ctx, name)).name)
  return { ...(await mergeModel({ ctx, input: { name }, idempotency })), format }
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
}): Promise<LinkedExport> {
  const found = id.startsWith(prefix) ? await findAdapter(ctx, name, id.slice(prefix.length)) : await findMerged(ctx, name, id)
  if (!found) throw new ServiceError('not_found', `The model "${name}" has no export with this id.`)
  return found
}

const adapterOf = (modelName: string): Exported => ({
  id: prefix + modelName,
  modelName,
  format: 'adapter',
  status: 'COMPLETED',
})

async function findAdapter(ctx: Ctx, name: string, modelName: string): Promise<LinkedExport | null> {
  const model = isModelId(modelName) ? await findUnder(ctx, name, modelName) : null
  return model && { ...adapterOf(modelName), ...(await linkFiles(ctx, { reference: name, model })) }
}

async function findMerged(ctx: Ctx, name: string, id: string): Promise<LinkedExport | null> {
  const found = isUuid(id) ? await ctx.deps.database.modelExports.find(ctx.accountId, id) : null
  if (!found) return null
  const { modelName, status, message } = found
  const model = await findUnder(ctx, name, modelName)
  if (!model) return null
  const wait = (await readWaits(ctx, 'export', [found]))(found)
  const told = { statusReason: wait && wait.reason, message: wait ? wait.message : message }
  const links = await linkMergedFiles(ctx, found, { reference: name, model })
  return { id, modelName, format: 'merged', status, ...told, ...links }
}

/** The model of this id, if the name leads to the model or to a newer version of it. */
async function findUnder(ctx: Ctx, name: string, modelName: string): Promise<TunedModel | null> {
  const named = await lookUpTuned(ctx, name)
  if (named?.name === modelName) return named
  return (await isOlderVersion(ctx, name, modelName)) ? lookUpTuned(ctx, modelName) : null
}

/** A checkpoint is found by its own name only. */
const isOlderVersion = async ({ deps }: Ctx, name: string, modelName: string): Promise<boolean> =>
  (await deps.database.modelNames.versionOf(modelName))?.name === rowsOf(name)
