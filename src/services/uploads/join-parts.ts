// Joins the parts of an upload to its file. One request in all api processes does so: it holds a claim in the upload's row, which
// ends by itself when its process dies. The work outlives the connection of its request: a proxy may cut that after a minute.
import { uploadLimits, type FileUpload, type UploadPart } from '../../domain/file-upload.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { discardUnfinished, keepRows, openRows, rowsOf, type ReceivedRows } from '../datasets/ingest-rows.ts'
import { keptAs } from '../files/store-file.ts'
import { requireRoomToCopy } from '../limits/account-quotas.ts'
import { noUpload, requirePending } from './find.ts'

/** `md5`: what the file must have, in lower case; null when it was not told. */
export type Order = { parts: readonly UploadPart[]; hash: string; md5: string | null }

const renewEveryMs = uploadLimits.joinClaimMs / 6

/**
 * Completes the upload, or only notes the MD5 sum of this order when it is another one. Does nothing while another request
 * has the claim.
 * @throws ServiceError conflict when the upload ends meanwhile, quota_exceeded
 */
export async function joinParts(ctx: Ctx, { id }: FileUpload, order: Order) {
  const claimed = await claim(ctx, id)
  if (!claimed) return
  const { upload, rows } = claimed
  const lost = new AbortController()
  const renew = async () => {
    if (!(await ctx.deps.database.fileUploads.renewJoin(id, rows.versionId))) lost.abort(endedMeanwhile())
  }
  // An outage of the database is no reason to stop: the claim is checked again before the file is kept.
  const renewing = setInterval(() => void renew().catch(() => undefined), renewEveryMs)
  try {
    await writeFile(ctx, upload, { order, rows, signal: lost.signal })
  } finally {
    clearInterval(renewing)
    await ctx.deps.database.fileUploads.endJoin(id, rows.versionId).catch(() => undefined)
    if (rows.kept === 'no') await discardUnfinished(ctx, rows)
  }
}

/** Counts the bytes of the file from now on. @returns null while another request has the claim */
async function claim(ctx: Ctx, id: string): Promise<{ upload: FileUpload; rows: ReceivedRows } | null> {
  const { accountId, deps } = ctx
  const claimed = await deps.database.transaction(async (tx) => {
    await tx.accounts.hold(accountId)
    const upload = await tx.fileUploads.hold(accountId, id)
    if (!upload) throw noUpload()
    requirePending(upload)
    if (upload.isJoining) return null
    await requireRoomToCopy(ctx, tx)
    const rows = await openRows(ctx, { repositories: tx, sizeBytes: upload.sizeBytes })
    await tx.fileUploads.claimJoin(id, rows.versionId)
    return { upload, rows }
  })
  // What a process that died has left.
  if (claimed?.upload.joiningVersionId) await discardUnfinished(ctx, rowsOf(ctx, claimed.upload.joiningVersionId))
  return claimed
}

type Writing = { order: Order; rows: ReceivedRows; signal: AbortSignal }

async function writeFile(ctx: Ctx, upload: FileUpload, { order, rows, signal }: Writing) {
  const { accountId, deps } = ctx
  const pieces = order.parts.map(({ uploadKey: key, sizeBytes }) => ({ key, sizeBytes }))
  const task = { accountId, pieces, key: rows.key, md5: order.md5 }
  const { md5, isJoined } = await deps.datasets.join(task, signal).catch(async (error: unknown) => {
    // The parts of an upload that was cancelled are gone.
    await requireClaim(ctx, upload.id, rows)
    throw error
  })
  if (md5 !== null) await deps.database.fileUploads.noteMd5(upload.id, { orderHash: order.hash, orderMd5: md5 })
  if (!isJoined) return
  await requireClaim(ctx, upload.id, rows)
  rows.sizeBytes = upload.sizeBytes
  const { fileName, purpose, lifeSeconds } = upload
  const kept = { ...keptAs(rows, fileName, purpose), lifeSeconds: lifeSeconds ?? undefined }
  await keepRows(ctx, rows, kept, async (tx, { datasetId }) => {
    const now = await tx.fileUploads.hold(accountId, upload.id)
    if (now?.status !== 'pending' || now.joiningVersionId !== rows.versionId) throw endedMeanwhile()
    await tx.fileUploads.complete(upload.id, datasetId)
    await recordAudit(tx, ctx, 'data.upload', datasetId)
  })
}

async function requireClaim(ctx: Ctx, id: string, { versionId }: ReceivedRows) {
  if (!(await ctx.deps.database.fileUploads.renewJoin(id, versionId))) throw endedMeanwhile()
}

const endedMeanwhile = () =>
  new ServiceError('conflict', 'The upload was cancelled, or another request has begun to complete it.')
