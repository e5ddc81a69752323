import { ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { AcceptanceRequest } from '../../repositories/job-acceptance.ts'
import type { Ctx } from '../context.ts'

/** Jobs end by themselves, data is deleted by its owner; neither happens in a second. */
const retryAfterSeconds = 60
const bytesPerGigabyte = 1e9
/** More than all api processes together have transactions open. */
const acceptedAtOnce = 200

/**
 * One statement, unless the account is near its limit: then its requests take turns, so that the limit is exact.
 * @returns no_room when it is reached
 */
export async function acceptWithinQuota({ deps: { settings, database }, accountId }: Ctx, request: AcceptanceRequest) {
  const near = settings.maxOpenJobs - acceptedAtOnce
  if (near > 0) {
    const acceptance = await database.jobAcceptance.accept(request, near)
    if (acceptance.outcome !== 'no_room') return acceptance
  }
  return database.transaction(async (tx) => {
    await tx.accounts.hold(accountId)
    return tx.jobAcceptance.accept(request, settings.maxOpenJobs)
  })
}

/**
 * Within the transaction that opens one more. Near the limit the requests of an account take turns, so that it is exact.
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForJob(ctx: Ctx, tx: Repositories) {
  const { accountId } = ctx
  const { settings } = ctx.deps
  const near = settings.maxOpenJobs - acceptedAtOnce
  if (near > 0 && !(await tx.accounts.hasOpenJobs(accountId, near))) return
  await tx.accounts.hold(accountId)
  if (!(await tx.accounts.hasOpenJobs(accountId, settings.maxOpenJobs))) return
  throw noRoomForJob(ctx)
}

export function noRoomForJob({ deps: { settings } }: Ctx) {
  const detail = `This account has ${settings.maxOpenJobs} open training jobs, which is as many as it may have.`
  return new ServiceError('quota_exceeded', `${detail} Wait for one to end, or cancel one.`, { retryAfterSeconds })
}

/**
 * Before more is uploaded. What a presigned URL brings counts once a job uses it or it is checked.
 * @param key of a request that may be the repeat of one for which there was room
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForData({ deps: { settings, database }, accountId }: Ctx, key?: string) {
  const storedBytes = await database.accounts.storedBytes(accountId)
  if (storedBytes < settings.maxStoredBytes) return
  if (key !== undefined && (await database.idempotencyKeys.find({ accountId, key }))) return
  const limit = `${(settings.maxStoredBytes / bytesPerGigabyte).toFixed(1)} GB`
  const detail = `This account has stored ${limit} of data sets and models, which is as much as it may.`
  throw new ServiceError('quota_exceeded', `${detail} Delete what is not needed.`, { retryAfterSeconds })
}
