import { ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { AcceptanceRequest } from '../../repositories/job-acceptance.ts'
import type { Ctx } from '../context.ts'

/** Jobs end and owners delete data; neither happens within seconds. */
const retryAfterSeconds = 60
const bytesPerGigabyte = 1e9
/** More than the open transactions of all api processes together. */
const acceptedAtOnce = 200

/**
 * Accepts in one statement while the account is far from its limit. Near the limit its requests take turns, so that the
 * limit is exact.
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
 * Call it in the transaction that opens a job. Near the limit the account's requests take turns to keep it exact.
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
  const detail = `This account has ${settings.maxOpenJobs} open training jobs, the most that it may have.`
  return new ServiceError('quota_exceeded', `${detail} Wait until a job ends, or cancel one.`, { retryAfterSeconds })
}

/**
 * Call it before an upload. An upload by presigned URL counts once a job uses it or it is checked.
 * @param key the request's Idempotency-Key: a repeat needs no room
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForData({ deps: { settings, database }, accountId }: Ctx, key?: string) {
  const storedBytes = await database.accounts.storedBytes(accountId)
  if (storedBytes < settings.maxStoredBytes) return
  if (key !== undefined && (await database.idempotencyKeys.find({ accountId, key }))) return
  const limit = `${(settings.maxStoredBytes / bytesPerGigabyte).toFixed(1)} GB`
  const detail = `This account has stored ${limit} of data sets and models, the most that it may store.`
  throw new ServiceError('quota_exceeded', `${detail} Delete some of them.`, { retryAfterSeconds })
}
