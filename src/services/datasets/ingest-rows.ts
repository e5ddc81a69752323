// Bodies that carry rows: the rows go to the object store while they arrive, and belong to a data set once somebody keeps them.
import { createHash, randomUUID } from 'node:crypto'
import { splitStreamingBody, type Lines } from '../../datasets/streaming-body.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { isUniqueViolation, type Repositories } from '../../repositories/database.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'

/** Rows in the object store that no data set has yet. */
export type ReceivedRows = { versionId: string; key: string; rowCount: number; sizeBytes: number; isKept: boolean }

/** By field; absent when the field is absent or null, or has no rows. */
export type RowsOfFields = { readonly [field: string]: ReceivedRows | undefined }

export type RowsOptions = {
  fields: readonly string[]
  limitBytes: number
  /** Of everything beside the rows. */
  restLimitBytes: number
}

type Received = {
  /** The body, its rows replaced by null. */
  rest: Buffer
  rows: RowsOfFields
  /** Of the body; empty unless asked for. */
  sha256: Uint8Array
}

/** Receives rows for `use`, and removes them again unless it keeps them, or accepts a job on them. */
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
    for (const each of Object.values(rows)) if (!(isDone && each.isKept)) await discardRows(input.ctx, each)
  }
}

type ReceiveInput = {
  ctx: Ctx
  body: AsyncIterable<Buffer> | Iterable<Buffer>
  options: RowsOptions
  /** Only then the body is hashed, which takes its time. */
  idempotencyKey: string | undefined
  /** Asked for only when there are rows. */
  signal: () => AbortSignal
  /** Where they are noted, also when it fails. */
  rows: Record<string, ReceivedRows>
}

/**
 * Reads the whole body, in constant memory; the rows of each field become an object of their own.
 * @throws ServiceError invalid_input, payload_too_large, request_timeout, quota_exceeded
 */
async function receiveRows({ ctx, body, options, idempotencyKey, signal, rows }: ReceiveInput): Promise<Received> {
  const hash = idempotencyKey === undefined ? null : createHash('sha256')
  const rowBody = splitStreamingBody(options)
  const lines = readLines(body, rowBody, hash)
  let next = await lines.next()
  if (!next.done) await requireRoomForData(ctx, idempotencyKey)

  /** The lines of one field, up to the first of another. */
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

/** Their version is a row first, so that the sweep finds what a crash leaves. */
export async function openRows(ctx: Ctx): Promise<ReceivedRows> {
  const versionId = randomUUID()
  const key = storageKeys.inline(ctx.accountId, versionId, 'rows.jsonl')
  const datasetId = versionId.replaceAll('-', '')
  await ctx.deps.database.datasets.createVersion({
    id: versionId,
    accountId: ctx.accountId,
    datasetId,
    version: 1,
    uploadKey: key,
  })
  return { versionId, key, rowCount: 0, sizeBytes: 0, isKept: false }
}

/** Makes the rows the newest version of a data set, of one of its own when no id is given; `finish` commits with it. */
export async function keepRows<T>(
  ctx: Ctx,
  rows: ReceivedRows,
  { datasetId, ...options }: { datasetId: string | undefined; isPublic: boolean; fileName?: string },
  finish: (tx: Repositories, version: DatasetVersion) => Promise<T>,
): Promise<T> {
  const { versionId, sizeBytes } = rows
  for (;;) {
    try {
      const kept = await ctx.deps.database.transaction(async (tx) =>
        finish(tx, await tx.datasets.keep(versionId, { datasetId, ...options, sizeBytes })),
      )
      rows.isKept = true
      return kept
    } catch (error) {
      // Another request opened the same version of the data set at once.
      if (!isUniqueViolation(error)) throw error
    }
  }
}

/** Best effort: what stays is swept after a day. Rows that a job was accepted on stay. */
export async function discardRows(ctx: Ctx, { versionId, key }: ReceivedRows) {
  const { database, storage, log } = ctx.deps
  try {
    if (await database.datasets.removeUnused(versionId)) await storage.remove([key])
  } catch (error) {
    log.warn({ err: error, versionId }, 'received rows are left to the sweep')
  }
}

async function* readLines(
  body: ReceiveInput['body'],
  rowBody: ReturnType<typeof splitStreamingBody>,
  hash: ReturnType<typeof createHash> | null,
): AsyncGenerator<Lines> {
  for await (const chunk of body) {
    hash?.update(chunk)
    yield* rowBody.push(chunk)
  }
  // Before the object is complete: a body that breaks off must leave none.
  rowBody.end()
}
