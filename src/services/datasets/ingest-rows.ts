// Streams the rows of a request body to the object store. They belong to no data set until a service keeps them.
import { createHash, randomUUID } from 'node:crypto'
import { splitStreamingBody, type Lines } from '../../datasets/streaming-body.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { isUniqueViolation, type Repositories } from '../../repositories/database.ts'
import type { FilePurpose } from '../../domain/file-purpose.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { commitStored, type Stored } from '../store-then-commit.ts'

/** Rows in the object store; kept once they belong to a data set. */
export type ReceivedRows = Stored & { versionId: string; key: string; rowCount: number; sizeBytes: number }

/** Rows by field. A field that is absent, null or empty has no entry. */
export type RowsOfFields = { readonly [field: string]: ReceivedRows | undefined }

export type RowsOptions = {
  fields: readonly string[]
  limitBytes: number
  /** Limit of the body without its rows. */
  restLimitBytes: number
}

type Received = {
  /** The body with null in place of its rows. */
  rest: Buffer
  rows: RowsOfFields
  /** Hash of the body; empty without an Idempotency-Key. */
  sha256: Uint8Array
}

/** Receives rows, calls `use`, and removes the rows that were neither kept nor used by a job. */
export async function ingestRows<T>(
  input: Omit<ReceiveInput, 'rows'>,
  use: (received: Received) => Promise<T> | T,
): Promise<T> {
  const rows: Record<string, ReceivedRows> = {}
  let isDone = false
  try {
    const received = await receiveRows({ ...input, rows })
    const result = await use(received)
    isDone = true
    return result
  } finally {
    for (const each of Object.values(rows))
      if (each.kept === 'no' || (each.kept === 'yes' && !isDone)) await discardRows(input.ctx, each)
  }
}

type ReceiveInput = {
  ctx: Ctx
  body: AsyncIterable<Buffer> | Iterable<Buffer>
  options: RowsOptions
  /** The body is hashed only when there is a key. */
  idempotencyKey: string | undefined
  /** Called only when there are rows. */
  signal: () => AbortSignal
  /** Checks a row whose check would hold up the event loop, and gives its bytes back. */
  checkRow: (bytes: Buffer, path: string) => Promise<Buffer>
  /** Filled with the received rows, also when receiving fails. */
  rows: Record<string, ReceivedRows>
}

/**
 * Reads the whole body in constant memory and stores the rows of each field as one object.
 * @throws ServiceError invalid_input, payload_too_large, request_timeout, quota_exceeded
 */
async function receiveRows(input: ReceiveInput): Promise<Received> {
  const { ctx, options, idempotencyKey, signal, rows } = input
  const hash = idempotencyKey === undefined ? null : createHash('sha256')
  const rowBody = splitStreamingBody(options)
  const lines = readLines(input, rowBody, hash)
  let next = await lines.next()
  if (!next.done) await requireRoomForData(ctx, idempotencyKey)

  /** Yields lines until the first line of another field. */
  async function* linesOf(field: string) {
    for (; !next.done && next.value.field === field; next = await lines.next()) yield next.value.bytes
  }
  while (!next.done) {
    const { field } = next.value
    const received = await openRows(ctx)
    rows[field] = received
    received.sizeBytes = await ctx.deps.storage.writeStream(received.key, linesOf(field), signal())
    received.rowCount = rowBody.rowCount(field)
  }
  return { rest: rowBody.end(), rows, sha256: hash?.digest() ?? new Uint8Array() }
}

type OpenOptions = {
  repositories?: Pick<Repositories, 'datasets'>
  /** Counts as stored from now on, for an object whose size is known. */
  sizeBytes?: number
}

/** Creates the version's row before its object, so that retention finds an object that a crash leaves behind. */
export async function openRows(
  ctx: Ctx,
  { repositories = ctx.deps.database, sizeBytes }: OpenOptions = {},
): Promise<ReceivedRows> {
  const rows = rowsOf(ctx, randomUUID())
  const { versionId, key: uploadKey } = rows
  const datasetId = versionId.replaceAll('-', '')
  const version = { id: versionId, accountId: ctx.accountId, datasetId, version: 1, uploadKey }
  await repositories.datasets.createVersion({ ...version, ...(sizeBytes !== undefined && { uploadBytes: sizeBytes }) })
  return rows
}

/** The rows of a version that was opened and is not kept. */
export const rowsOf = ({ accountId }: Ctx, versionId: string): ReceivedRows => ({
  versionId,
  key: storageKeys.inline(accountId, versionId, 'rows.jsonl'),
  rowCount: 0,
  sizeBytes: 0,
  kept: 'no',
})

type FileOptions = { purpose?: FilePurpose | undefined; lifeSeconds?: number | undefined }

/** Makes the rows the newest version of a data set, or of a new one without an id. `finish` runs in the transaction. */
export async function keepRows<T>(
  ctx: Ctx,
  rows: ReceivedRows,
  { datasetId, ...options }: { datasetId: string | undefined; isPublic: boolean; fileName?: string } & FileOptions,
  finish: (tx: Repositories, version: DatasetVersion) => Promise<T>,
): Promise<T> {
  const { versionId, sizeBytes } = rows
  for (;;) {
    try {
      return await commitStored(ctx.deps.database, rows, async (tx) =>
        finish(tx, await tx.datasets.keep(versionId, { datasetId, ...options, sizeBytes })),
      )
    } catch (error) {
      // Another request has created the same version number: take the next one.
      if (!isUniqueViolation(error)) throw error
    }
  }
}

/** Removes rows that no job uses. Retention removes them a day later if this fails. */
export async function discardRows(ctx: Ctx, { versionId, key }: ReceivedRows) {
  const { database, storage, log } = ctx.deps
  try {
    if (await database.datasets.removeUnused(versionId)) await storage.remove([key])
  } catch (error) {
    log.warn({ err: error, versionId }, 'failed to discard received rows')
  }
}

/** Also removes what a thread that was ended has uploaded of the object. */
export async function discardUnfinished(ctx: Ctx, rows: ReceivedRows) {
  await discardRows(ctx, rows)
  await ctx.deps.storage.dropUnfinished(rows.key).catch(() => undefined)
}

async function* readLines(
  { body, checkRow }: ReceiveInput,
  rowBody: ReturnType<typeof splitStreamingBody>,
  hash: ReturnType<typeof createHash> | null,
): AsyncGenerator<Lines> {
  for await (const chunk of body) {
    hash?.update(chunk)
    for (const { unchecked, ...lines } of rowBody.push(chunk))
      yield unchecked === undefined ? lines : { ...lines, bytes: await checkRow(lines.bytes, unchecked) }
  }
  // Throws for an incomplete body before its object is complete.
  rowBody.end()
}
