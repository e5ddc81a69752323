// Who a bearer key stands for. What is known of a key is never older than a second, so that a revoked one is refused within
// a second everywhere.
import { parseApiKey, sameHash } from '../domain/identifiers.ts'
import type { Scope } from '../domain/scopes.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { ServiceDependencies } from './context.ts'
import { createTtlCache } from './ttl-cache.ts'

const minuteMs = 60_000

export type Authenticate = (authorization: string | undefined) => Promise<ApiKeyRecord>

const refused = () =>
  new ServiceError('invalid_token', 'invalid token: send a valid API key as "Authorization: Bearer <key>".')

/**
 * The returned function throws ServiceError invalid_token, the same for a missing, malformed, unknown, expired or revoked key.
 * Whether nothing is known of a key is remembered as well: a flood of one wrong key costs two look-ups a second.
 */
export function createAuthenticate(
  { database, log }: Pick<ServiceDependencies, 'database' | 'log'>,
  now?: () => number,
): Authenticate {
  const keys = createTtlCache<ApiKeyRecord | null>(now)

  function look(id: string): Promise<ApiKeyRecord | null> {
    const record = database.accounts.findLiveApiKey(id)
    record.then(
      (found) => found && noteUse(found),
      () => undefined,
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
    const record = await keys.get(key.id, () => look(key.id))
    if (!record || !sameHash(record.secretHash, key.secretHash)) throw refused()
    return record
  }
}

/** Never 403: old clients know a refused key by 401 alone. @throws ServiceError invalid_token */
export function requireScope({ scopes }: Pick<ApiKeyRecord, 'scopes'>, scope: Scope) {
  if (!scopes.includes(scope))
    throw new ServiceError('invalid_token', `invalid token: this needs a key with the scope "${scope}".`)
}
