import { ServiceError } from '../../domain/service-error.ts'
import type { DatasetFile } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'

export type StoredFile = DatasetFile

/** The file's id without its prefix is its data set's id. */
export const fileIdOf = (versionId: string) => `file-${versionId.replaceAll('-', '')}`

/** Finds a file of the account. @throws ServiceError not_found */
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
