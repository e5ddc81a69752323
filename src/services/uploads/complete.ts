import { createHash } from 'node:crypto'
import type { FileUpload, UploadPart } from '../../domain/file-upload.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { Storage } from '../../storage/storage.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { discardRows, keepRows, openRows } from '../datasets/ingest-rows.ts'
import type { StoredFile } from '../files/find-file.ts'
import { keptAs } from '../files/store-file.ts'
import { findUpload, noUpload, requirePending } from './find.ts'
import { removeParts } from './remove-parts.ts'

type CompletedUpload = { upload: FileUpload; file: StoredFile | null }

/**
 * Joins the parts in the order of `partIds` to a file. A repeat gets the same answer.
 * @throws ServiceError not_found, conflict when the upload was cancelled or is too old, invalid_input
 */
export async function completeUpload({
  ctx,
  input: { id, partIds, md5 },
  signal,
}: {
  ctx: Ctx
  input: { id: string; partIds: readonly string[]; md5: string | null }
  signal: AbortSignal
}): Promise<CompletedUpload> {
  const upload = await findUpload({ ctx, input: { id } })
  if (upload.status === 'completed') return completed(ctx, upload)
  requirePending(upload)
  const all = await ctx.deps.database.fileUploads.listParts(id)
  const parts = inOrder(all, partIds)
  requireSize(upload, parts)
  await joinParts(ctx, { upload, parts, md5 }, signal)
  const { database, storage, log } = ctx.deps
  // Retention removes what is left when this fails.
  await removeParts({ database, storage }, all).catch((error: unknown) =>
    log.warn({ err: error, uploadId: id }, 'failed to remove the parts of an upload'),
  )
  return completed(ctx, await findUpload({ ctx, input: { id } }))
}

/** The file may have been deleted since. */
async function completed(ctx: Ctx, upload: FileUpload): Promise<CompletedUpload> {
  const file = upload.fileId && (await ctx.deps.database.datasets.findFile(ctx.accountId, upload.fileId))
  return { upload, file: file || null }
}

function inOrder(all: readonly UploadPart[], partIds: readonly string[]): UploadPart[] {
  const byId = new Map(all.map((part) => [part.id, part]))
  return partIds.map((id, index) => {
    const part = byId.get(id)
    byId.delete(id)
    if (part) return part
    const reason = partIds.indexOf(id) < index ? 'is named twice' : 'is no part of this upload'
    throw invalidInput(`part_ids[${index}]`, `part_ids[${index}] ${reason}.`)
  })
}

function requireSize({ sizeBytes }: FileUpload, parts: readonly UploadPart[]) {
  const sum = parts.reduce((total, part) => total + part.sizeBytes, 0)
  if (sum !== sizeBytes)
    throw invalidInput('part_ids', `The parts have ${sum} bytes together, and the upload was opened for ${sizeBytes}.`)
}

type Joined = { upload: FileUpload; parts: readonly UploadPart[]; md5: string | null }

/** Writes the file under a key of its own, then names it in one transaction. Several at once make one file. */
async function joinParts(ctx: Ctx, { upload, parts, md5 }: Joined, signal: AbortSignal) {
  const rows = await openRows(ctx)
  try {
    const hash = createHash('md5')
    rows.sizeBytes = await ctx.deps.storage.writeStream(rows.key, bytesOf(ctx.deps.storage, parts, hash), signal)
    const found = hash.digest('hex')
    if (md5 !== null && md5.toLowerCase() !== found)
      throw invalidInput('md5', `md5 does not match: the file has the MD5 sum ${found}.`)
    const { fileName, purpose, lifeSeconds } = upload
    const kept = { ...keptAs(rows, fileName, purpose), lifeSeconds: lifeSeconds ?? undefined }
    await keepRows(ctx, rows, kept, async (tx, { datasetId }) => {
      const now = await tx.fileUploads.hold(ctx.accountId, upload.id)
      if (!now) throw noUpload()
      requirePending(now)
      await tx.fileUploads.complete(upload.id, datasetId)
      await recordAudit(tx, ctx, 'data.upload', datasetId)
    })
  } finally {
    if (!rows.isKept) await discardRows(ctx, rows)
  }
}

async function* bytesOf(
  storage: Pick<Storage, 'read'>,
  parts: readonly UploadPart[],
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Buffer> {
  for (const { uploadKey } of parts) {
    const part = await storage.read(uploadKey)
    if (!part) throw new ServiceError('conflict', 'The upload was cancelled or completed meanwhile.')
    for await (const piece of part as AsyncIterable<Buffer>) {
      hash.update(piece)
      yield piece
    }
  }
}
