import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FileUpload, UploadPart } from '../../domain/file-upload.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { createTurns } from '../../turns.ts'
import type { Ctx } from '../context.ts'
import type { StoredFile } from '../files/find-file.ts'
import { findUpload, requirePending } from './find.ts'
import { joinParts, type Order } from './join-parts.ts'
import { removeParts } from './remove-parts.ts'

type CompletedUpload = { upload: FileUpload; file: StoredFile | null }
type CompleteInput = { id: string; partIds: readonly string[]; md5: string | null }

/** Requests of one upload in this process wait in line, so that only the first one looks what another process does. */
const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfAccount: 1 })
const lookAgainMs = 500

/**
 * Joins the parts in the order of `partIds` to a file. A repeat gets the same answer, also while the parts are joined, and
 * after this request's connection was cut.
 * @param signal ends only the wait in line
 * @throws ServiceError conflict when the upload was cancelled or is too old, invalid_input, quota_exceeded
 */
export async function completeUpload({
  ctx,
  input,
  signal,
}: {
  ctx: Ctx
  input: CompleteInput
  signal: AbortSignal
}): Promise<CompletedUpload> {
  const { id } = await findUpload({ ctx, input })
  await turns.take(id, signal)
  try {
    return await completeInTurn(ctx, input)
  } finally {
    turns.giveBack(id)
  }
}

async function completeInTurn(ctx: Ctx, input: CompleteInput): Promise<CompletedUpload> {
  let order: Order | undefined
  for (;;) {
    const upload = await findUpload({ ctx, input })
    if (upload.status === 'completed') return completed(ctx, upload)
    requirePending(upload)
    order ??= await readOrder(ctx, upload, input)
    requireMd5(upload, order)
    if (upload.isJoining) await sleep(lookAgainMs)
    else await joinParts(ctx, upload, order)
  }
}

/** The file may have been deleted since. */
async function completed(ctx: Ctx, upload: FileUpload): Promise<CompletedUpload> {
  const { database, storage, log } = ctx.deps
  const parts = await database.fileUploads.listParts(upload.id)
  // Retention removes what is left when this fails.
  await removeParts({ database, storage }, parts).catch((error: unknown) =>
    log.warn({ err: error, uploadId: upload.id }, 'failed to remove the parts of an upload'),
  )
  const file = upload.fileId && (await database.datasets.findFile(ctx.accountId, upload.fileId))
  return { upload, file: file || null }
}

async function readOrder(ctx: Ctx, upload: FileUpload, { partIds, md5 }: CompleteInput): Promise<Order> {
  const parts = inOrder(await ctx.deps.database.fileUploads.listParts(upload.id), partIds)
  requireSize(upload, parts)
  const hash = createHash('sha256').update(partIds.join()).digest('hex')
  return { parts, hash, md5: md5?.toLowerCase() ?? null }
}

function inOrder(all: readonly UploadPart[], partIds: readonly string[]): UploadPart[] {
  const byId = new Map(all.map((part) => [part.id, part]))
  const seen = new Set<string>()
  return partIds.map((id, index) => {
    const part = byId.get(id)
    if (part && !seen.has(id)) {
      seen.add(id)
      return part
    }
    const reason = part ? 'is named twice' : 'is no part of this upload'
    throw invalidInput(`part_ids[${index}]`, `part_ids[${index}] ${reason}.`)
  })
}

function requireSize({ sizeBytes }: FileUpload, parts: readonly UploadPart[]) {
  const sum = parts.reduce((total, part) => total + part.sizeBytes, 0)
  if (sum !== sizeBytes)
    throw invalidInput('part_ids', `The parts have ${sum} bytes together, and the upload was opened for ${sizeBytes}.`)
}

/** Parts never change, so that no order of them is read twice for a wrong sum. */
function requireMd5({ orderHash, orderMd5 }: FileUpload, { hash, md5 }: Order) {
  if (md5 !== null && orderHash === hash && orderMd5 !== md5)
    throw invalidInput('md5', `md5 does not match: the file has the MD5 sum ${orderMd5}.`)
}
