import { parseApiKey, sameHash } from '../domain/identifiers.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { ServiceDependencies } from './context.ts'

const refused = () =>
  new ServiceError('invalid_token', 'invalid token: send a valid API key as "Authorization: Bearer <key>".')

/** @throws ServiceError invalid_token, the same for a missing, malformed, unknown, expired or revoked key */
export async function authenticate({
  deps,
  authorization,
}: {
  deps: Pick<ServiceDependencies, 'database'>
  authorization: string | undefined
}): Promise<{ accountId: string; apiKeyId: string }> {
  const token = /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
  const key = token === undefined ? undefined : parseApiKey(token)
  if (!key) throw refused()
  const record = await deps.database.accounts.findLiveApiKey(key.id)
  if (!record || !sameHash(record.secretHash, key.secretHash)) throw refused()
  return { accountId: record.accountId, apiKeyId: record.id }
}
