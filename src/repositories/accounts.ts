import { Prisma } from '../../generated/prisma/client.ts'
import type { Person } from '../domain/person.ts'
import type { Priority } from '../domain/priority.ts'
import { scopes, type Scope } from '../domain/scopes.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import type { Connection } from './connection.ts'

export type Account = { id: string; name: string; priority: Priority; createdAt: Date }

export type ApiKeyRecord = {
  id: string
  accountId: string
  secretHash: Uint8Array
  scopes: Scope[]
  lastUsedAt: Date | null
  /** The person for whom the key stands. */
  person: Person | null
}

/** The columns of `readKey`, from `api_keys k`. */
export const keyColumns = Prisma.raw(
  `k.id, k.account_id as "accountId", k.secret_hash as "secretHash", k.scopes, k.last_used_at as "lastUsedAt",
   k.person_subject as "personSubject", k.person_mail as "personMail"`,
)
export const keyIsLive = Prisma.raw('k.revoked_at is null and (k.expires_at is null or k.expires_at > now())')

export type KeyRow = Omit<ApiKeyRecord, 'person'> & { personSubject: string | null; personMail: string | null }

export const readKey = ({ personSubject, personMail, ...key }: KeyRow): ApiKeyRecord => ({
  ...key,
  person: personSubject === null ? null : { subject: personSubject, mail: personMail },
})

const select = { id: true, name: true, priority: true, createdAt: true }

export const createAccountRepository = (db: Connection) => ({
  create: async (name: string, priority: Priority = 'normal'): Promise<Account> =>
    readAccount(await db.account.create({ data: { name, priority }, select })),

  async find(id: string): Promise<Account | null> {
    const row = await db.account.findUnique({ where: { id }, select })
    return row && readAccount(row)
  },

  /** The oldest account of this name. Makes one if there is none; several callers at once make the same. */
  async named(name: string): Promise<{ account: Account; isNew: boolean }> {
    const oldest = async () => {
      const row = await db.account.findFirst({
        where: { name },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        select,
      })
      return row && { account: readAccount(row), isNew: false }
    }
    const found = await oldest()
    if (found) return found
    await db.$executeRaw`select pg_advisory_xact_lock(hashtextextended(${`account ${name}`}, 0))`
    return (await oldest()) ?? { account: await this.create(name), isNew: true }
  },

  setPriority: async (id: string, priority: Priority): Promise<Account> =>
    readAccount(await db.account.update({ where: { id }, data: { priority }, select })),

  /** Lists accounts after the one with the id `after`, newest first. */
  async list({ after, limit }: { after: string | null; limit: number }): Promise<Account[]> {
    const rows = await db.account.findMany({
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
      take: limit,
      select,
    })
    return rows.map(readAccount)
  },

  /** Locks the account until the transaction ends. Inserts that refer to the account do not wait. */
  async hold(id: string) {
    await db.$queryRaw`select from accounts where id = ${id}::uuid for no key update`
  },

  /** Whether the account has at least `count` open jobs. */
  async hasOpenJobs(accountId: string, count: number): Promise<boolean> {
    const open = await db.$queryRaw<unknown[]>`
      select 1 from training_jobs where account_id = ${accountId}::uuid and status = any(${openStatuses})
      limit 1 offset ${count - 1}`
    return open.length > 0
  },

  async countOpenJobs(accountId: string): Promise<number> {
    const [row] = await db.$queryRaw<[{ count: number }]>`
      select count(*)::int as count from training_jobs
      where account_id = ${accountId}::uuid and status = any(${openStatuses})`
    return row.count
  },

  /** Bytes in the object store. */
  async storedBytes(id: string): Promise<number> {
    const [row] = await db.$queryRaw<{ bytes: number }[]>`
      select bytes::float8 as bytes from account_storage where account_id = ${id}::uuid`
    return row?.bytes ?? 0
  },

  /** The part of `storedBytes` that rollouts of reinforcement jobs have. */
  async rolloutBytes(id: string): Promise<number> {
    const [row] = await db.$queryRaw<{ bytes: number }[]>`
      select rollout_bytes::float8 as bytes from account_storage where account_id = ${id}::uuid`
    return row?.bytes ?? 0
  },

  /** Bytes in the database: stored rows, kept responses, evals, requests and results of batches and evaluations, large jobs and imported ones. */
  async rowBytes(id: string): Promise<number> {
    const [row] = await db.$queryRaw<{ bytes: number }[]>`
      select (stored_row_bytes + coalesce((select row_bytes from account_storage where account_id = id), 0))::float8 as bytes
      from accounts where id = ${id}::uuid`
    return row?.bytes ?? 0
  },

  /**
   * Finds a key that is neither revoked nor expired.
   * @param claimsAt when the token of a person was issued; null without a token
   */
  async findLiveApiKey(id: string, claimsAt: Date | null = null): Promise<ApiKeyRecord | null> {
    const [key] = await db.$queryRaw<KeyRow[]>`
      select ${keyColumns} from api_keys k where k.id = ${id} and ${keyIsLive}
        and coalesce(${claimsAt}::timestamptz > k.refused_until, true)`
    return key ? readKey(key) : null
  },

  /** Never sets an earlier time. */
  async noteKeyUse(id: string, at: Date) {
    await db.apiKey.updateMany({
      where: { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: at } }] },
      data: { lastUsedAt: at },
    })
  },

  /** Creates an account with its first key. A repeat with the same key id changes nothing. */
  async ensureWithApiKey({ name, keyId, secretHash }: { name: string; keyId: string; secretHash: Uint8Array }) {
    if (await db.apiKey.findUnique({ where: { id: keyId }, select: { id: true } })) return
    await db.account.create({
      data: {
        name,
        apiKeys: {
          create: { id: keyId, name: 'first key', secretHash: Uint8Array.from(secretHash), scopes: [...scopes] },
        },
      },
    })
  },
})

/** A check of the table guarantees the cast. */
const readAccount = (row: Omit<Account, 'priority'> & { priority: string }): Account => ({
  ...row,
  priority: row.priority as Priority,
})
