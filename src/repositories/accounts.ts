import { scopes, type Scope } from '../domain/scopes.ts'
import type { Connection } from './database.ts'

export type ApiKeyRecord = {
  id: string
  accountId: string
  secretHash: Uint8Array
  scopes: Scope[]
  expiresAt: Date | null
  lastUsedAt: Date | null
}

export const createAccountRepository = (db: Connection) => ({
  /** A key that may be used now, or null. */
  async findLiveApiKey(id: string): Promise<ApiKeyRecord | null> {
    const row = await db.apiKey.findFirst({
      where: { id, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
      select: { id: true, accountId: true, secretHash: true, scopes: true, expiresAt: true, lastUsedAt: true },
    })
    return row && { ...row, scopes: row.scopes as Scope[] }
  },

  /** Only forward. */
  async noteKeyUse(id: string, at: Date) {
    await db.apiKey.updateMany({
      where: { id, OR: [{ lastUsedAt: null }, { lastUsedAt: { lt: at } }] },
      data: { lastUsedAt: at },
    })
  },

  /** Creates an account with its first key, once: a second call with the same key id changes nothing. */
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
