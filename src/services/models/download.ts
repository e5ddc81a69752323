import type { Ctx } from '../context.ts'
import { linkCard, type LinkedFile, type NamedModel } from './card.ts'
import { findTunedModel } from './find-tuned.ts'

/** Returns short-lived URLs of the adapter, its manifest and its card. @throws ServiceError model_not_found, invalid_input */
export async function downloadModel({ ctx, input: { name } }: { ctx: Ctx; input: { name: string } }) {
  const model = await findTunedModel(ctx, name)
  return { name: model.name, baseModel: model.baseModel, ...(await linkFiles(ctx, { reference: name, model })) }
}

/** Makes a short-lived URL for each file of the model, and for its card. */
export async function linkFiles(ctx: Ctx, named: NamedModel) {
  const { storage } = ctx.deps
  const expiresInSeconds = await storage.podUrlSeconds()
  const links = named.model.files.map(async ({ key, ...file }) => ({ ...file, url: await storage.presignDownload(key) }))
  const files: LinkedFile[] = await Promise.all([...links, linkCard(ctx, named, 'adapter')])
  return { files, expiresInSeconds }
}
