import type { TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTunedModel } from './find-tuned.ts'

/** Returns short-lived URLs of the adapter and its manifest. @throws ServiceError model_not_found, invalid_input */
export async function downloadModel({ ctx, input }: { ctx: Ctx; input: { name: string } }) {
  const model = await findTunedModel(ctx, input.name)
  return { name: model.name, baseModel: model.baseModel, ...(await linkFiles(ctx, model)) }
}

/** Makes a short-lived URL for each file of the model. */
export async function linkFiles({ deps: { storage } }: Ctx, { files }: TunedModel) {
  const links = files.map(async ({ key, ...file }) => ({ ...file, url: await storage.presignDownload(key) }))
  return { files: await Promise.all(links), expiresInSeconds: storage.podUrlSeconds }
}
