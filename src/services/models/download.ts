import type { Ctx } from '../context.ts'
import { findTunedModel } from './find-tuned.ts'

/** Returns short-lived URLs of the adapter and its manifest. @throws ServiceError model_not_found, invalid_input */
export async function downloadModel({ ctx, input }: { ctx: Ctx; input: { name: string } }) {
  const { storage } = ctx.deps
  const { name, baseModel, files } = await findTunedModel(ctx, input.name)
  const links = files.map(async ({ key, ...file }) => ({ ...file, url: await storage.presignDownload(key) }))
  return { name, baseModel, files: await Promise.all(links), expiresInSeconds: storage.podUrlSeconds }
}
