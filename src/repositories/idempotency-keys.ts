import { Prisma } from '../../generated/prisma/client.ts'
import type { Connection } from './connection.ts'

export type IdempotencyRecord = { requestHash: Uint8Array; response: unknown }
type Key = { accountId: string; key: string }

/** SQL on the row `old` of a key and the row `excluded` of its next request. A request that died is replaced by its repeat only. */
export const mayBeTakenOver = `old.created_at < now() - interval '24 hours'
        or (old.response is null and old.claimed_until < now() and old.request_hash = excluded.request_hash)`

export const createIdempotencyRepository = (db: Connection) => ({
  /** Takes the key for one request. @returns null when taken, else the record of who has it */
  async claim(key: Key, requestHash: Uint8Array, claimMs: number): Promise<IdempotencyRecord | null> {
    const hash = Buffer.from(requestHash)
    const taken = await db.$executeRaw`
      insert into idempotency_keys as old (account_id, key, request_hash, claimed_until)
      values (${key.accountId}::uuid, ${key.key}, ${hash}, now() + make_interval(secs => ${claimMs / 1000}))
      on conflict (account_id, key) do update set request_hash = excluded.request_hash, claimed_until = excluded.claimed_until, response = null, created_at = now()
      where ${Prisma.raw(mayBeTakenOver)}`
    if (taken > 0) return null
    return db.idempotencyKey.findUnique({ where: { accountId_key: key } })
  },

  /** Keeps the key for a request that still works. */
  async renew({ accountId, key }: Key, requestHash: Uint8Array, claimMs: number) {
    await db.$executeRaw`
      update idempotency_keys set claimed_until = now() + make_interval(secs => ${claimMs / 1000})
      where account_id = ${accountId}::uuid and key = ${key} and response is null
        and request_hash = ${Buffer.from(requestHash)}`
  },

  /** Finds the record of a request that was answered within a day, or still runs. */
  async find({ accountId, key }: Key): Promise<IdempotencyRecord | null> {
    const [record] = await db.$queryRaw<IdempotencyRecord[]>`
      select request_hash as "requestHash", response from idempotency_keys
      where account_id = ${accountId}::uuid and key = ${key} and created_at >= now() - interval '24 hours'
        and (response is not null or claimed_until >= now())`
    return record ?? null
  },

  /** Commits with the work itself. @returns false when another request has taken the claim over and answered */
  async answer(key: Key, response: object): Promise<boolean> {
    const { count } = await db.idempotencyKey.updateMany({
      where: { ...key, response: { equals: Prisma.AnyNull } },
      data: { response },
    })
    return count === 1
  },

  /** A refused request leaves its key free. */
  async release(key: Key) {
    await db.idempotencyKey.deleteMany({ where: { ...key, response: { equals: Prisma.AnyNull } } })
  },
})
