// How long a key may last that another key, or a session of the console, makes: a stolen key or session must not leave a key
// behind that outlives it. A person has no key that ends, and so chooses an end within some months.
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { wireTime } from '../../domain/timestamps.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { AdminCtx } from '../context.ts'

const dayMs = 24 * 3_600_000

/**
 * The time at which keys that the caller makes end at the latest; null for never. The operator's keys may last for ever.
 * @throws ServiceError invalid_token for a key or a session that has ended
 */
export async function latestEndOf(
  { deps: { settings }, accountId, apiKeyId, sessionId, person }: AdminCtx,
  { accounts, apiKeys, consoleSessions }: Pick<Repositories, 'accounts' | 'apiKeys' | 'consoleSessions'>,
): Promise<Date | null> {
  if (accountId === null) return null
  const key = (await accounts.findLiveApiKey(apiKeyId)) && (await apiKeys.find(accountId, apiKeyId))
  if (!key) throw ended('key')
  if (person) return new Date(Date.now() + settings.personKeyDays * dayMs)
  if (settings.madeKeysEndWith === 'nothing') return null
  if (sessionId === undefined || settings.madeKeysEndWith === 'key') return key.expiresAt
  const sessionEnd = await consoleSessions.endOf(sessionId)
  if (!sessionEnd) throw ended('session')
  return key.expiresAt && key.expiresAt < sessionEnd ? key.expiresAt : sessionEnd
}

/** @returns the end of the new key @throws ServiceError invalid_input */
export function endOfNewKey(caller: AdminCtx, wanted: Date | null, latest: Date | null): Date | null {
  if (!wanted || !isLater(wanted, latest)) return wanted ?? latest
  throw invalidInput('expires_at', `expires_at must be ${boundOf(caller, latest)}`)
}

/** The new key keeps the end of the old one, so the caller must be allowed to make such a key. @throws ServiceError conflict */
export function requireEndForRotation(caller: AdminCtx, id: string, expiresAt: Date | null, latest: Date | null) {
  if (!isLater(expiresAt, latest)) return
  throw new ServiceError(
    'conflict',
    `The key that follows ${id} keeps its end, which must be ${boundOf(caller, latest)}`,
  )
}

const isLater = (end: Date | null, latest: Date | null): latest is Date =>
  latest !== null && (end === null || end > latest)

function boundOf({ sessionId, person, deps: { settings } }: AdminCtx, latest: Date): string {
  const until = `${wireTime(latest)} UTC or earlier`
  if (person) return `${until}: a key that a person makes lasts at most ${settings.personKeyDays} days.`
  const maker = sessionId === undefined ? 'your own key' : 'your session of the console'
  return `${until}, because ${maker} ends then. Use a key that lasts longer, or ask the operator.`
}

const ended = (what: 'key' | 'session') =>
  new ServiceError(
    'invalid_token',
    what === 'key'
      ? 'invalid token: the key has ended.'
      : 'invalid token: the session of the console has ended. Sign in again.',
  )
