import type { Prisma } from '../../generated/prisma/client.ts'
import type { Person } from '../domain/person.ts'
import type { Scope } from '../domain/scopes.ts'
import type { Connection } from './connection.ts'

/** The parts of a key that may be shown. */
export type ApiKey = {
  id: string
  accountId: string
  name: string
  scopes: Scope[]
  createdAt: Date
  expiresAt: Date | null
  revokedAt: Date | null
  lastUsedAt: Date | null
  /** The key that made this one. Null for the operator's keys. */
  makerKeyId: string | null
  /** The session of the console by which that key acted. */
  makerSessionId: string | null
  /** The person for whom the key stands, in place of a secret. */
  person: Person | null
}

/** Somebody enters an account with a token that was issued at `claimsAt`. */
type Entry = Pick<ApiKey, 'id' | 'accountId' | 'name' | 'scopes'> & {
  person: Person
  claimsAt: Date
  secretHash: Uint8Array
}

type NewApiKey = Pick<ApiKey, 'id' | 'accountId' | 'name' | 'scopes' | 'expiresAt'> &
  Partial<Pick<ApiKey, 'makerKeyId' | 'makerSessionId'>> & { secretHash: Uint8Array }

export const createApiKeyRepository = (db: Connection) => ({
  async create({ secretHash, ...key }: NewApiKey): Promise<ApiKey> {
    return plain(await db.apiKey.create({ data: { ...key, secretHash: Uint8Array.from(secretHash) }, omit }))
  },

  /**
   * Keeps what the newest token of a person says. A token that is newer than the revocation of the person's key revives the key:
   * the identity provider decides who may sign in again. Tokens from before the revocation stay refused.
   * @returns whether the key is new, or was revoked until now
   */
  async enter({ person, claimsAt, secretHash, ...key }: Entry): Promise<boolean> {
    const entered = await db.$queryRaw<{ isOpened: boolean }[]>`
      insert into api_keys as k (id, account_id, name, secret_hash, scopes, person_subject, person_mail, claims_at)
      values (${key.id}, ${key.accountId}::uuid, ${key.name}, ${secretHash}, ${key.scopes}, ${person.subject}, ${person.mail}, ${claimsAt})
      on conflict (id) do update set name = excluded.name, scopes = excluded.scopes, person_mail = excluded.person_mail,
        claims_at = excluded.claims_at, revoked_at = null, refused_until = greatest(k.refused_until, k.revoked_at)
      where excluded.claims_at > greatest(k.claims_at, k.revoked_at)
      returning not exists (select from api_keys known where known.id = k.id and known.revoked_at is null) as "isOpened"`
    return entered[0]?.isOpened ?? false
  },

  /**
   * Lists the keys of one account or of all after the key with the id `after`, newest first.
   * @returns null when no key of these has the id `after`
   */
  async list(
    accountId: string | null,
    { after, limit }: { after: string | null; limit: number },
  ): Promise<ApiKey[] | null> {
    if (after !== null && !(await this.find(accountId, after))) return null
    const rows = await db.apiKey.findMany({
      where: of(accountId),
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      ...(after === null ? {} : { cursor: { id: after }, skip: 1 }),
      take: limit,
      omit,
    })
    return rows.map(plain)
  },

  /** `accountId` null finds the key of any account. */
  async find(accountId: string | null, id: string): Promise<ApiKey | null> {
    const row = await db.apiKey.findFirst({ where: { id, ...of(accountId) }, omit })
    return row && plain(row)
  },

  /** Finds the key, and locks its row until the transaction ends. */
  async lock(accountId: string | null, id: string): Promise<ApiKey | null> {
    await db.$queryRaw`select from api_keys where id = ${id} for update`
    return this.find(accountId, id)
  },

  /** Maps ids to names. Keys that are gone are absent. */
  async names(ids: readonly string[]): Promise<Map<string, string>> {
    const where = { id: { in: [...new Set(ids)] } }
    const keys = await db.apiKey.findMany({ where, select: { id: true, name: true } })
    return new Map(keys.map(({ id, name }) => [id, name]))
  },

  /** The keys that are neither revoked nor expired, without those of people. */
  async countLive(accountId: string): Promise<number> {
    const [row] = await db.$queryRaw<[{ count: number }]>`
      select count(*)::int as count from api_keys
      where account_id = ${accountId}::uuid and person_subject is null
        and revoked_at is null and (expires_at is null or expires_at > now())`
    return row.count
  },

  /** The valid keys that this key made, and those that these made in turn, also over keys that have ended. */
  async liveDescendants(id: string): Promise<string[]> {
    const rows = await db.$queryRaw<{ id: string }[]>`
      with recursive descendants as (
        select id, created_at, revoked_at, expires_at from api_keys where maker_key_id = ${id}
        union
        select k.id, k.created_at, k.revoked_at, k.expires_at
        from api_keys k join descendants d on k.maker_key_id = d.id)
      select id from descendants
      where revoked_at is null and (expires_at is null or expires_at > now()) order by created_at, id`
    return rows.map((row) => row.id)
  },

  /** Ends the key's sessions of the console, too: a newer token revives the key of a person, but no old session. */
  async revoke(id: string, at: Date): Promise<ApiKey> {
    await db.apiKey.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: at } })
    await db.consoleSession.deleteMany({ where: { apiKeyId: id } })
    return plain(await db.apiKey.findUniqueOrThrow({ where: { id }, omit }))
  },

  async expire(id: string, at: Date) {
    await db.apiKey.update({ where: { id }, data: { expiresAt: at } })
  },

  /** @returns the number of keys that were live */
  async revokeAll(accountId: string, at: Date): Promise<number> {
    return (await db.apiKey.updateMany({ where: { accountId, revokedAt: null }, data: { revokedAt: at } })).count
  },
})

const of = (accountId: string | null) => (accountId === null ? {} : { accountId })

const omit = { secretHash: true, claimsAt: true, refusedUntil: true } as const

const plain = ({ personSubject, personMail, ...row }: Prisma.ApiKeyGetPayload<{ omit: typeof omit }>): ApiKey => ({
  ...row,
  scopes: row.scopes as Scope[],
  person: personSubject === null ? null : { subject: personSubject, mail: personMail },
})
