import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { findFile } from './find-file.ts'

/** Reads the file's original bytes. @throws ServiceError not_found */
export async function readFile({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { fileId: string }
}): Promise<{ bytes: AsyncIterable<Buffer>; sizeBytes: number }> {
  const { uploadKey, sizeBytes } = await findFile({ ctx, input })
  const bytes = await ctx.deps.storage.read(uploadKey)
  if (!bytes) throw new ServiceError('not_found', 'There is no such file.')
  return { bytes: bytes as AsyncIterable<Buffer>, sizeBytes }
}
