import { scopes } from '../domain/scopes.ts'
import type { Connection } from './database.ts'

export type ApiKeyRecord = { id: string; accountId: string; secretHash: Uint8Array }

export const createAccountRepository = (db: Connection) => ({
  /** A key that may be used now, or null. */
  async findLiveApiKey(id: string): Promise<ApiKeyRecord | null> {
    return db.apiKey.findFirst({
      where: { id, revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: new Date() } }] },
      select: { id: true, accountId: true, secretHash: true },
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
