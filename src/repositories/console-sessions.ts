import { keyColumns, keyIsLive, readKey, type ApiKeyRecord, type KeyRow } from './accounts.ts'
import type { Connection } from './connection.ts'

/** A live session with the key that it acts for. */
export type ConsoleSessionRecord = {
  sessionId: string
  pageTokenHash: Uint8Array
  expiresAt: Date
  key: ApiKeyRecord
}

export type ShownLink = {
  accountId: string
  accountName: string
  apiKeyId: string
  keyName: string
  scopes: ApiKeyRecord['scopes']
  expiresAt: Date
}

type AccountKey = { accountId: string; apiKeyId: string }
type SessionSecrets = { cookieHash: Uint8Array; pageTokenHash: Uint8Array }

export const createConsoleSessionRepository = (db: Connection) => ({
  /** Adds a link that opens one session until it expires. */
  async addLink({ accountId, apiKeyId }: AccountKey, linkHash: Uint8Array, validSeconds: number) {
    const [row] = await db.$queryRaw<[{ id: string; expiresAt: Date }]>`
      insert into console_sessions (account_id, api_key_id, link_hash, expires_at)
      values (${accountId}::uuid, ${apiKeyId}, ${linkHash}, now() + make_interval(secs => ${validSeconds}))
      returning id, expires_at as "expiresAt"`
    return row
  },

  async add({ accountId, apiKeyId }: AccountKey, { cookieHash, pageTokenHash }: SessionSecrets, validSeconds: number) {
    const [row] = await db.$queryRaw<[{ id: string; expiresAt: Date }]>`
      insert into console_sessions (account_id, api_key_id, cookie_hash, page_token_hash, expires_at)
      values (${accountId}::uuid, ${apiKeyId}, ${cookieHash}, ${pageTokenHash}, now() + make_interval(secs => ${validSeconds}))
      returning id, expires_at as "expiresAt"`
    return row
  },

  /**
   * The account and key that a live link would sign in to. Whoever is shown them has until `shownSeconds` after its making to answer.
   * @returns null for every other link
   */
  async showLink(linkHash: Uint8Array, shownSeconds: number): Promise<ShownLink | null> {
    const [row] = await db.$queryRaw<ShownLink[]>`
      update console_sessions s set expires_at = greatest(s.expires_at, s.created_at + make_interval(secs => ${shownSeconds}))
      from api_keys k join accounts a on a.id = k.account_id
      where s.link_hash = ${linkHash} and s.expires_at > now() and k.id = s.api_key_id and ${keyIsLive}
      returning k.account_id as "accountId", a.name as "accountName", k.id as "apiKeyId", k.name as "keyName", k.scopes,
        s.expires_at as "expiresAt"`
    return row ?? null
  },

  /** Turns a live link of a live key into a session. Null for every other link, and for each further use of this one. */
  async openLink(
    linkHash: Uint8Array,
    { cookieHash, pageTokenHash }: SessionSecrets,
    validSeconds: number,
  ): Promise<(AccountKey & { id: string; expiresAt: Date; scopes: ApiKeyRecord['scopes'] }) | null> {
    const [row] = await db.$queryRaw<(AccountKey & { id: string; expiresAt: Date; scopes: ApiKeyRecord['scopes'] })[]>`
      update console_sessions s
      set link_hash = null, cookie_hash = ${cookieHash}, page_token_hash = ${pageTokenHash},
        expires_at = now() + make_interval(secs => ${validSeconds})
      from api_keys k
      where s.link_hash = ${linkHash} and s.expires_at > now() and k.id = s.api_key_id and ${keyIsLive}
      returning s.id, s.account_id as "accountId", s.api_key_id as "apiKeyId", s.expires_at as "expiresAt", k.scopes`
    return row ?? null
  },

  /** Finds a session that has not expired, of a key that is neither revoked nor expired. */
  async findLive(cookieHash: Uint8Array): Promise<ConsoleSessionRecord | null> {
    const [row] = await db.$queryRaw<(KeyRow & Omit<ConsoleSessionRecord, 'key'>)[]>`
      select s.id as "sessionId", s.page_token_hash as "pageTokenHash", s.expires_at as "expiresAt", ${keyColumns}
      from console_sessions s join api_keys k on k.id = s.api_key_id
      where s.cookie_hash = ${cookieHash} and s.expires_at > now() and ${keyIsLive}`
    if (!row) return null
    const { sessionId, pageTokenHash, expiresAt, ...key } = row
    return { sessionId, pageTokenHash, expiresAt, key: readKey(key) }
  },

  /** When the session ends; null for one that has ended. */
  async endOf(id: string): Promise<Date | null> {
    const [row] = await db.$queryRaw<{ expiresAt: Date }[]>`
      select expires_at as "expiresAt" from console_sessions where id = ${id}::uuid and expires_at > now()`
    return row?.expiresAt ?? null
  },

  /** Whether the session exists and has not expired. */
  async isLive(id: string): Promise<boolean> {
    return (await this.endOf(id)) !== null
  },

  /** Counts sessions and links, expired ones included. */
  count: (accountId: string): Promise<number> => db.consoleSession.count({ where: { accountId } }),

  /** @returns whether the session was there */
  async end({ accountId, id }: { accountId: string; id: string }): Promise<boolean> {
    return (await db.consoleSession.deleteMany({ where: { id, accountId } })).count > 0
  },

  /** Deletes all but the newest `kept` sessions and links of the account, expired ones included. */
  async keepNewest(accountId: string, kept: number) {
    await db.$executeRaw`
      delete from console_sessions where id in (
        select id from console_sessions where account_id = ${accountId}::uuid
        order by created_at desc, id desc offset ${kept})`
  },
})
