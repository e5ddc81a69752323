// Authenticates bearer keys. Cached records are at most a second old, so every api process refuses a revoked key within a
// second.
import { bearerOf } from '../domain/bearer.ts'
import { parseApiKey, sameHash } from '../domain/identifiers.ts'
import { leastRoleWith } from '../domain/roles.ts'
import type { Scope } from '../domain/scopes.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { Ctx, ServiceDependencies } from './context.ts'
import { createTtlCache } from './ttl-cache.ts'

const minuteMs = 60_000

type Authenticate = (authorization: string | undefined) => Promise<ApiKeyRecord>

const refused = () =>
  new ServiceError('invalid_token', 'invalid token: send a valid API key as "Authorization: Bearer <key>".')

/**
 * The returned function throws the same ServiceError invalid_token for a missing, malformed, unknown, expired or revoked
 * key. Unknown keys are cached too: a flood of one wrong key costs two queries a second.
 */
export function createAuthenticate(
  { database, log }: Pick<ServiceDependencies, 'database' | 'log'>,
  now?: () => number,
): Authenticate {
  const keys = createTtlCache<ApiKeyRecord | null>(now)

  /** Stores the use to the minute: about one write per minute and key, and only after its secret was right. */
  function noteUse(record: ApiKeyRecord) {
    const { id, lastUsedAt } = record
    const minute = new Date(Math.floor(Date.now() / minuteMs) * minuteMs)
    if (lastUsedAt && lastUsedAt >= minute) return
    // The record is kept for up to a second, and must not be written for each of its requests.
    record.lastUsedAt = minute
    database.accounts
      .noteKeyUse(id, minute)
      .catch((error: unknown) => log.warn({ err: error }, 'failed to record the last use of a key'))
  }

  return async (authorization) => {
    const token = bearerOf(authorization)
    const key = token === undefined ? undefined : parseApiKey(token)
    if (!key) throw refused()
    const record = await keys.get(key.id, () => database.accounts.findLiveApiKey(key.id))
    if (!record || !sameHash(record.secretHash, key.secretHash)) throw refused()
    noteUse(record)
    return record
  }
}

/** Old clients recognise a refused key by 401 only, so this is not a 403. @throws ServiceError invalid_token */
export function requireScope({ scopes, person }: Pick<ApiKeyRecord, 'scopes' | 'person'>, scope: Scope) {
  if (scopes.includes(scope)) return
  const needed = person ? `the role ${leastRoleWith(scope)} in this account` : `a key with the scope "${scope}"`
  throw new ServiceError('invalid_token', `invalid token: this needs ${needed}.`)
}

/** Read anew, because the key may have been revoked a moment ago. @throws ServiceError invalid_token as `requireScope` */
export async function requireScopeNow(ctx: Pick<Ctx, 'deps' | 'apiKeyId'>, scope: Scope) {
  requireScope(await liveKey(ctx), scope)
}

/** @throws ServiceError invalid_token */
export const scopesOf = async (ctx: Pick<Ctx, 'deps' | 'apiKeyId'>): Promise<Scope[]> => (await liveKey(ctx)).scopes

async function liveKey({ deps, apiKeyId }: Pick<Ctx, 'deps' | 'apiKeyId'>): Promise<ApiKeyRecord> {
  const key = await deps.database.accounts.findLiveApiKey(apiKeyId)
  if (!key) throw new ServiceError('invalid_token', 'invalid token: the key was revoked.')
  return key
}
