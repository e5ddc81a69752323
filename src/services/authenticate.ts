// Who a bearer key stands for. What is known of a key is never older than a second, so that a revoked one is refused within
// a second everywhere; a key in use is looked up again before that, so that its requests do not wait for it.
import { parseApiKey, sameHash } from '../domain/identifiers.ts'
import type { Scope } from '../domain/scopes.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { ServiceDependencies } from './context.ts'

/** Counted from before the look-up, with time to spare for the request that uses it last. */
const cachedForMs = 900
const lookAgainMs = 450
const mostCached = 10_000
const minuteMs = 60_000

type Looked = { record: Promise<ApiKeyRecord | null>; atMs: number; isAskedAgain: boolean }

export type Authenticate = (authorization: string | undefined) => Promise<ApiKeyRecord>

const refused = () =>
  new ServiceError('invalid_token', 'invalid token: send a valid API key as "Authorization: Bearer <key>".')

/**
 * The returned function throws ServiceError invalid_token, the same for a missing, malformed, unknown, expired or revoked key.
 * Whether nothing is known of a key is remembered as well: a flood of one wrong key costs two look-ups a second.
 */
export function createAuthenticate(
  { database, log }: Pick<ServiceDependencies, 'database' | 'log'>,
  now = () => performance.now(),
): Authenticate {
  const cache = new Map<string, Looked>()

  async function look(id: string): Promise<ApiKeyRecord | null> {
    const known = cache.get(id)
    const ageMs = known ? now() - known.atMs : Number.POSITIVE_INFINITY
    if (!known || ageMs >= cachedForMs) return keep(id, ask(id)).record
    if (ageMs >= lookAgainMs && !known.isAskedAgain) {
      known.isAskedAgain = true
      const next = ask(id)
      // Until it answers, and if it fails, what is known holds for its time.
      next.record.then(
        () => keep(id, next),
        () => undefined,
      )
    }
    return known.record
  }

  /** `atMs` is from before the look-up: the answer may be as old as that. */
  function ask(id: string): Looked {
    const atMs = now()
    const record = database.accounts.findLiveApiKey(id)
    record.then(
      (found) => found && noteUse(found),
      () => undefined,
    )
    return { record, atMs, isAskedAgain: false }
  }

  function keep(id: string, looked: Looked): Looked {
    const known = cache.get(id)
    // Answers may overtake each other.
    if (known && known.atMs > looked.atMs) return looked
    // Deleted first: a map keeps its order, so the oldest entries stay in front.
    cache.delete(id)
    cache.set(id, looked)
    for (const oldest of cache.keys()) {
      if (cache.size <= mostCached) break
      cache.delete(oldest)
    }
    looked.record.catch(() => cache.get(id) === looked && cache.delete(id))
    return looked
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
