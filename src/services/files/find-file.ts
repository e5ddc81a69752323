import { ServiceError } from '../../domain/service-error.ts'
import type { DatasetFile } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'

export type StoredFile = DatasetFile

/** Also the id of the data set that the file is. */
export const fileIdOf = (versionId: string) => `file-${versionId.replaceAll('-', '')}`

/** Alike for an unknown id and another account's. @throws ServiceError not_found */
export async function findFile({
  ctx,
  input: { fileId },
}: {
  ctx: Ctx
  input: { fileId: string }
}): Promise<StoredFile> {
  const isFileId = /^file-[0-9a-f]{32}$/.test(fileId)
  const file = isFileId ? await ctx.deps.database.datasets.findFile(ctx.accountId, fileId) : null
  if (!file) throw new ServiceError('not_found', 'There is no such file.')
  return file
}
