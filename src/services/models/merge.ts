// Merged exports: one open or complete export of each model, made in the background.
import { randomUUID } from 'node:crypto'
import type { ExportStatus, ModelExport } from '../../domain/model-export.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import { requireScopeNow } from '../authenticate.ts'
import type { Ctx } from '../context.ts'
import { acceptWork } from '../durable-work/accept.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { linkCard, type LinkedFile, type NamedModel } from './card.ts'
import { findTunedModel } from './find-tuned.ts'

/** A merge rarely ends sooner. */
const retryAfterSeconds = 30

/**
 * Accepts an export: one row, from which its workflow starts. A repeat gives the export that is open or complete.
 * A merge runs a program and stores a whole model, so it needs the scope of trainings.
 * @throws ServiceError invalid_token, model_not_found, invalid_input for a base model, conflict, quota_exceeded
 */
export async function mergeModel({
  ctx,
  input: { name },
  idempotency,
}: {
  ctx: Ctx
  input: { name: string }
  idempotency: Idempotency
}): Promise<{ id: string; modelName: string; status: ExportStatus }> {
  const { accountId, deps } = ctx
  await requireScopeNow(ctx, 'training')
  const model = await findTunedModel(ctx, name)
  return once(ctx, idempotency, async (answer) => {
    const request = { baseModel: baseOf(ctx, model), adapter: model.files }
    await requireRoomForData(ctx)
    return deps.database.transaction(async (tx) => {
      await tx.accounts.hold(accountId)
      const made = await tx.modelExports.findUsable(accountId, model.name)
      if (made) return answer(tx, { id: made.id, modelName: model.name, status: made.status })
      const { maxOpenExports } = deps.settings
      const id = randomUUID()
      await acceptWork(tx, ctx, {
        async requireRoom() {
          if ((await tx.modelExports.countOpen(accountId)) >= maxOpenExports) throw full(maxOpenExports)
        },
        create: () => tx.modelExports.create({ id, accountId, modelName: model.name, request }),
        audit: { action: 'export.create', target: model.name },
      })
      return answer(tx, { id, modelName: model.name, status: 'QUEUED' })
    })
  })
}

function baseOf({ deps: { catalogue } }: Ctx, model: TunedModel): ModelExport['request']['baseModel'] {
  const entry = catalogue.find(model.baseModel)
  if (!entry)
    throw new ServiceError(
      'conflict',
      `The base model ${model.baseModel} is no longer served here, so nothing can be merged into it. Export the adapter.`,
    )
  const { name, source, sha256, resources } = entry
  return { name, source, ...(sha256 !== undefined && { sha256 }), resources }
}

const full = (maxOpenExports: number) =>
  new ServiceError(
    'quota_exceeded',
    `This account has ${maxOpenExports} open exports, the most that it may have. Wait until one ends.`,
    { retryAfterSeconds },
  )

/** Makes a short-lived URL for each file, and for the card of the model; none before the export is complete. */
export async function linkMergedFiles(
  ctx: Ctx,
  { accountId, id, status, files }: ModelExport,
  named: NamedModel,
): Promise<{ files: LinkedFile[]; expiresInSeconds: number }> {
  const { storage } = ctx.deps
  const expiresInSeconds = await storage.podUrlSeconds()
  if (status !== 'COMPLETED') return { files: [], expiresInSeconds }
  const links = files.map(async (file) => ({
    ...file,
    url: await storage.presignDownload(storageKeys.exportFile(accountId, id, file.name)),
  }))
  return { files: await Promise.all([...links, linkCard(ctx, named, 'merged')]), expiresInSeconds }
}
