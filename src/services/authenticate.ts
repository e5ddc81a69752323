// Who a bearer key stands for. Looked up once a second at most, so that a revoked key is refused within a second everywhere.
import { parseApiKey, sameHash } from '../domain/identifiers.ts'
import type { Scope } from '../domain/scopes.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { ServiceDependencies } from './context.ts'

/** Counted from before the look-up, with time to spare for the request that uses it last. */
const cachedForMs = 900
const mostCached = 10_000
const minuteMs = 60_000

type Looked = { record: Promise<ApiKeyRecord | null>; atMs: number }

export type Authenticate = (authorization: string | undefined) => Promise<ApiKeyRecord>

const refused = () =>
  new ServiceError('invalid_token', 'invalid token: send a valid API key as "Authorization: Bearer <key>".')

/**
 * The returned function throws ServiceError invalid_token, the same for a missing, malformed, unknown, expired or revoked key.
 * Whether nothing is known of a key is remembered as well: a flood of one wrong key costs one look-up a second.
 */
export function createAuthenticate({ database, log }: Pick<ServiceDependencies, 'database' | 'log'>): Authenticate {
  const cache = new Map<string, Looked>()

  function look(id: string): Promise<ApiKeyRecord | null> {
    const now = performance.now()
    const known = cache.get(id)
    if (known && now - known.atMs < cachedForMs) return known.record
    const record = database.accounts.findLiveApiKey(id)
    // Deleted first: a map keeps its order, so the oldest entries stay in front.
    cache.delete(id)
    cache.set(id, { record, atMs: now })
    for (const oldest of cache.keys()) {
      if (cache.size <= mostCached) break
      cache.delete(oldest)
    }
    record.then(
      (found) => found && noteUse(found),
      () => cache.delete(id),
    )
    return record
  }

  /** To the minute, which is one write a minute and key. */
  function noteUse({ id, lastUsedAt }: ApiKeyRecord) {
    const minute = new Date(Math.floor(Date.now() / minuteMs) * minuteMs)
    if (lastUsedAt && lastUsedAt >= minute) return
    database.accounts
      .noteKeyUse(id, minute)
      .catch((error: unknown) => log.warn({ err: error }, 'the use of a key is not noted'))
  }

  return async (authorization) => {
    const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    const key = token === undefined ? undefined : parseApiKey(token)
    if (!key) throw refused()
    const record = await look(key.id)
    const isExpired = record?.expiresAt && record.expiresAt.getTime() <= Date.now()
    if (!record || isExpired || !sameHash(record.secretHash, key.secretHash)) throw refused()
    return record
  }
}

/** Never 403: old clients know a refused key by 401 alone. @throws ServiceError invalid_token */
export function requireScope({ scopes }: Pick<ApiKeyRecord, 'scopes'>, scope: Scope) {
  if (!scopes.includes(scope))
    throw new ServiceError('invalid_token', `invalid token: this needs a key with the scope "${scope}".`)
}
