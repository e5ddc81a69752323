import { ServiceError } from '../../domain/service-error.ts'
import { databaseFull, rolloutsFull, storageFull } from '../../domain/storage-full.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { AcceptanceRequest } from '../../repositories/job-acceptance.ts'
import type { Collection } from '../../repositories/stored-rows.ts'
import type { Ctx } from '../context.ts'

/** Jobs end and accounts delete data; neither happens within seconds. */
const retryAfterSeconds = 60
/** Smaller specs count nothing: see the migration `row_bytes`. */
const largeSpecBytes = 8192
/** More than the open transactions of all api processes together. */
const acceptedAtOnce = 200

/**
 * Accepts in one statement while the account is far from its limit. Near the limit its requests take turns, so that the
 * limit is exact.
 */
export async function acceptWithinQuota(ctx: Ctx, request: AcceptanceRequest) {
  const { accountId, deps } = ctx
  const { settings, database } = deps
  if (Buffer.byteLength(JSON.stringify(request.job.spec)) > largeSpecBytes) await requireRoomInDatabase(ctx)
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
  await requireRoomNow(ctx, tx)
}

/** Another request may take the room before the next statement. @throws ServiceError quota_exceeded */
export async function requireRoomNow(ctx: Ctx, { accounts }: Pick<Repositories, 'accounts'>) {
  if (await accounts.hasOpenJobs(ctx.accountId, ctx.deps.settings.maxOpenJobs)) throw noRoomForJob(ctx)
}

export function noRoomForJob({ deps: { settings } }: Ctx) {
  const detail = `This account has ${settings.maxOpenJobs} open training jobs, the most that it may have.`
  return new ServiceError('quota_exceeded', `${detail} Wait until a job ends, or cancel one.`, { retryAfterSeconds })
}

/**
 * Call it before an upload or a job.
 * @param key the request's Idempotency-Key: a repeat needs no room
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForData({ deps: { settings, database }, accountId }: Ctx, key?: string) {
  const storedBytes = await database.accounts.storedBytes(accountId)
  if (storedBytes < settings.maxStoredBytes) return
  if (key !== undefined && (await database.idempotencyKeys.find({ accountId, key }))) return
  throw noRoomForData(settings.maxStoredBytes)
}

/** Call it before a reinforcement job. Jobs that run go on. @throws ServiceError quota_exceeded */
export async function requireRoomForRollouts({ deps: { settings, database }, accountId }: Ctx) {
  if ((await database.accounts.rolloutBytes(accountId)) >= settings.maxRolloutBytes)
    throw new ServiceError('quota_exceeded', rolloutsFull(settings.maxRolloutBytes), { retryAfterSeconds })
}

/** Call it in a transaction that holds the account and counts the copy. @throws ServiceError quota_exceeded */
export async function requireRoomToCopy(
  { deps: { settings }, accountId }: Ctx,
  { accounts }: Pick<Repositories, 'accounts'>,
) {
  if ((await accounts.storedBytes(accountId)) >= settings.maxStoredBytes) throw noRoomForData(settings.maxStoredBytes)
}

/** Call it before rows that keep what a request has sent. @throws ServiceError quota_exceeded */
export async function requireRoomInDatabase(
  { deps: { settings, database }, accountId }: Ctx,
  { accounts }: Pick<Repositories, 'accounts'> = database,
) {
  if ((await accounts.rowBytes(accountId)) >= settings.maxRowBytes)
    throw new ServiceError('quota_exceeded', databaseFull(settings.maxRowBytes), { retryAfterSeconds })
}

const noRoomForData = (maxStoredBytes: number) =>
  new ServiceError('quota_exceeded', storageFull(maxStoredBytes), { retryAfterSeconds })

/** Uploads that are measured for each URL: more than a request can open. */
const measuredForUrl = 4

/**
 * Call it before a URL is issued. The length of an upload is unknown when its URL is signed, so the account's earlier uploads
 * are measured first.
 * @throws ServiceError quota_exceeded
 */
export async function requireRoomForUpload(ctx: Ctx) {
  const { database, storage } = ctx.deps
  const uploads = await database.datasets.recentUploads(ctx.accountId, measuredForUrl)
  await Promise.all(
    uploads.map(async ({ id, uploadKey }) =>
      database.datasets.measure(id, (await storage.stat(uploadKey))?.sizeBytes ?? 0),
    ),
  )
  await requireRoomForData(ctx)
}

/**
 * Counts an upload at its first use, and removes it if it does not fit.
 * @returns false when nothing was uploaded
 * @throws ServiceError quota_exceeded
 */
export async function acceptUpload(
  { deps: { settings, database, storage }, accountId }: Ctx,
  { id, uploadKey }: { id: string; uploadKey: string },
): Promise<boolean> {
  const object = await storage.stat(uploadKey)
  if (!object) return false
  await database.datasets.noteSize(id, object.sizeBytes)
  if ((await database.accounts.storedBytes(accountId)) <= settings.maxStoredBytes) return true
  await storage.remove([uploadKey])
  await database.datasets.noteSize(id, null)
  await database.datasets.measure(id, 0)
  throw noRoomForData(settings.maxStoredBytes)
}

/** Call it in the transaction that has added rows. @throws ServiceError quota_exceeded */
export async function requireRoomForRows({ deps: { settings } }: Ctx, tx: Repositories, place: Collection) {
  if ((await tx.storedRows.count(place)) <= settings.maxStoredRows) return
  const detail = `An id may hold ${settings.maxStoredRows} rows, and this one would hold more.`
  throw new ServiceError('quota_exceeded', `${detail} Delete its rows, or store the others under another id.`, {
    retryAfterSeconds,
  })
}
