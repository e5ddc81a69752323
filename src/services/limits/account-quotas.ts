import { ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'

/** Jobs end by themselves, data is deleted by its owner; neither happens in a second. */
const retryAfterSeconds = 60
const bytesPerGigabyte = 1e9
/** More than all api processes together have transactions open. */
const acceptedAtOnce = 200

/**
 * Within the transaction that opens one more. Near the limit the requests of an account take turns, so that it is exact.
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForJob({ deps: { settings }, accountId }: Ctx, tx: Repositories) {
  const near = settings.maxOpenJobs - acceptedAtOnce
  if (near > 0 && !(await tx.accounts.hasOpenJobs(accountId, near))) return
  await tx.accounts.hold(accountId)
  if (!(await tx.accounts.hasOpenJobs(accountId, settings.maxOpenJobs))) return
  const detail = `This account has ${settings.maxOpenJobs} open training jobs, which is as many as it may have.`
  throw new ServiceError('quota_exceeded', `${detail} Wait for one to end, or cancel one.`, { retryAfterSeconds })
}

/**
 * Before more is uploaded. What a presigned URL brings counts once a job uses it or it is checked.
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForData({ deps: { settings, database }, accountId }: Ctx) {
  const storedBytes = await database.accounts.storedBytes(accountId)
  if (storedBytes < settings.maxStoredBytes) return
  const limit = `${(settings.maxStoredBytes / bytesPerGigabyte).toFixed(1)} GB`
  const detail = `This account has stored ${limit} of data sets and models, which is as much as it may.`
  throw new ServiceError('quota_exceeded', `${detail} Delete what is not needed.`, { retryAfterSeconds })
}
