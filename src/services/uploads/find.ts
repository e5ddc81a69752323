import type { FileUpload } from '../../domain/file-upload.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'

export const noUpload = () =>
  new ServiceError('not_found', 'There is no such upload. An upload that is not completed goes after an hour.')

/** Finds an upload of the account. @throws ServiceError not_found */
export async function findUpload({ ctx, input: { id } }: { ctx: Ctx; input: { id: string } }): Promise<FileUpload> {
  const upload = await ctx.deps.database.fileUploads.find(ctx.accountId, id)
  if (!upload) throw noUpload()
  return upload
}

/** @throws ServiceError conflict */
export function requirePending({ status }: Pick<FileUpload, 'status'>) {
  if (status !== 'pending') throw new ServiceError('conflict', `The upload is ${status}. Create a new one.`)
}
