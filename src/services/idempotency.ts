// One accepted POST per Idempotency-Key: the key's answer commits with the work.
import { setTimeout as sleep } from 'node:timers/promises'
import { sameHash } from '../domain/identifiers.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Repositories } from '../repositories/database.ts'
import type { IdempotencyRecord } from '../repositories/idempotency-keys.ts'
import type { Ctx } from './context.ts'

export type Idempotency = { key: string; requestHash: Uint8Array } | null

/** A request that has not renewed the claim of its key for this long has died. */
const claimMs = 60_000
const waitMs = 10_000
const lookAgainMs = 200

/** Saves the answer in the transaction of the work. */
export type Answer<T extends object> = (tx: Repositories, response: T) => Promise<T>

/**
 * Claims the key, runs `work`, and returns its answer; a repeat gets the first answer.
 * @throws ServiceError idempotency_mismatch for another body, unavailable while the first request still runs
 */
export async function once<T extends object>(
  ctx: Ctx,
  idempotency: Idempotency,
  work: (answer: Answer<T>) => Promise<T>,
): Promise<T> {
  if (!idempotency) return work((_tx, response) => Promise.resolve(response))
  const key = { accountId: ctx.accountId, key: idempotency.key }
  const { idempotencyKeys } = ctx.deps.database
  const { requestHash } = idempotency
  const first = await firstAnswer<T>(requestHash, () => idempotencyKeys.claim(key, requestHash, claimMs))
  if (first) return first
  const renew = () => void idempotencyKeys.renew(key, requestHash, claimMs).catch(() => undefined)
  const renewing = setInterval(renew, claimMs / 3)
  try {
    return await work(async (tx, response) => {
      if (!(await tx.idempotencyKeys.answer(key, response))) throw takenOver()
      return response
    })
  } catch (error) {
    // Nothing was committed, so the same key may try again.
    await idempotencyKeys.release(key).catch(() => undefined)
    throw error
  } finally {
    clearInterval(renewing)
  }
}

/** Answers a repeat that is refused with the first answer: what the first request named may be gone by now. */
export async function orFirstAnswer<T extends object>(
  ctx: Ctx,
  idempotency: Idempotency,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!idempotency || !(error instanceof ServiceError) || error.code === 'unavailable') throw error
    const { key, requestHash } = idempotency
    const { idempotencyKeys } = ctx.deps.database
    const first = await firstAnswer<T>(requestHash, () => idempotencyKeys.find({ accountId: ctx.accountId, key }))
    if (first) return first
    throw error
  }
}

/**
 * Throws when the key has an answer or a running request. Call it only inside `orFirstAnswer`, which tells a repeat from
 * another body. For work that stores something before its answer commits.
 * @throws ServiceError idempotency_mismatch
 */
export async function requireFreeKey(ctx: Ctx, idempotency: Idempotency) {
  const { key } = idempotency ?? {}
  if (key !== undefined && (await ctx.deps.database.idempotencyKeys.find({ accountId: ctx.accountId, key })))
    throw keyIsTaken()
}

export const keyIsTaken = () =>
  new ServiceError('idempotency_mismatch', 'This Idempotency-Key was used with another request body.')

/** Waits while the first request runs. @returns null when the key is free, or `look` has claimed it */
async function firstAnswer<T>(
  requestHash: Uint8Array,
  look: () => Promise<IdempotencyRecord | null>,
): Promise<T | null> {
  const deadline = performance.now() + waitMs
  for (;;) {
    const record = await look()
    const response = record && replay<T>(record, requestHash)
    if (!record || response) return response
    if (performance.now() >= deadline)
      throw new ServiceError('unavailable', 'The first request with this Idempotency-Key is still running.', {
        retryAfterSeconds: 2,
      })
    await sleep(lookAgainMs)
  }
}

/** The refusal of a request that took longer than its claim lasted. */
const takenOver = () =>
  new ServiceError('unavailable', 'Another request with this Idempotency-Key took over.', { retryAfterSeconds: 1 })

function replay<T>(record: IdempotencyRecord, requestHash: Uint8Array): T | null {
  if (!sameHash(record.requestHash, requestHash)) throw keyIsTaken()
  return record.response as T | null
}
