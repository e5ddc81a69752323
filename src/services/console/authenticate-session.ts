// Authenticates requests of the console's pages. Cached records are at most a second old, so a session ends in every api
// process within a second of its key.
import { sameHash, sha256 } from '../../domain/identifiers.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { ConsoleSessionRecord } from '../../repositories/console-sessions.ts'
import type { ServiceDependencies } from '../context.ts'
import { createTtlCache } from '../ttl-cache.ts'

type AuthenticateSession = (secrets: { cookie: string; pageToken: string }) => Promise<ConsoleSessionRecord>

/** The returned function throws ServiceError invalid_token. */
export function createAuthenticateSession({ database }: Pick<ServiceDependencies, 'database'>): AuthenticateSession {
  const sessions = createTtlCache<ConsoleSessionRecord | null>()
  return async ({ cookie, pageToken }) => {
    const cookieHash = sha256(cookie)
    const session = await sessions.get(cookieHash.toString('base64'), () =>
      database.consoleSessions.findLive(cookieHash),
    )
    if (!session || !sameHash(session.pageTokenHash, sha256(pageToken)))
      throw new ServiceError('invalid_token', 'invalid token: the session of the console has ended. Sign in again.')
    return session
  }
}
