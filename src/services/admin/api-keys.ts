// Manages API keys. A key is shown once; only its hash is stored. Every change commits with its audit event.
import { makeApiKey, parseApiKey } from '../../domain/identifiers.ts'
import type { Scope } from '../../domain/scopes.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { ApiKey } from '../../repositories/api-keys.ts'
import type { Repositories } from '../../repositories/database.ts'
import { recordAudit } from '../audit/record.ts'
import type { AdminCtx } from '../context.ts'
import { findAccount } from './accounts.ts'

export type MadeApiKey = { apiKey: ApiKey; secret: string }

type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'scopes' | 'expiresAt'>

const keyNotFound = (id: string) => new ServiceError('not_found', `There is no key ${id}.`)

/** @throws ServiceError not_found, invalid_input */
export async function createApiKey({
  admin,
  input: { accountId, ...input },
}: {
  admin: AdminCtx
  input: { accountId: string | null; name: string; scopes: Scope[]; expiresAt: Date | null }
}): Promise<MadeApiKey> {
  const owner = accountId ?? admin.accountId
  if (owner === null)
    throw invalidInput('account_id', 'account_id is required: send the id of the account that gets the key.')
  await findAccount(admin, owner)
  if (input.expiresAt && input.expiresAt <= (await admin.deps.database.now()))
    throw invalidInput('expires_at', 'expires_at must be in the future.')
  return admin.deps.database.transaction(async (tx) => {
    const made = await make(tx, { ...input, accountId: owner })
    await recordAudit(tx, { ...admin, accountId: owner }, 'key.create', made.apiKey.id)
    return made
  })
}

/** Lists the keys of one account or of all, newest first. @throws ServiceError not_found */
export async function listApiKeys({
  admin,
  input: { accountId, after, limit },
}: {
  admin: AdminCtx
  input: { accountId: string | null; after: string | null; limit: number }
}): Promise<{ apiKeys: ApiKey[]; next: string | null }> {
  const owner = accountId ?? admin.accountId
  if (owner !== null) await findAccount(admin, owner)
  const apiKeys = await admin.deps.database.apiKeys.list(owner, { after, limit })
  return { apiKeys, next: apiKeys.length === limit ? (apiKeys.at(-1)?.id ?? null) : null }
}

/** Every api process refuses the key within a second. A repeat changes nothing. @throws ServiceError not_found */
export async function revokeApiKey({
  admin,
  input: { id },
}: {
  admin: AdminCtx
  input: { id: string }
}): Promise<ApiKey> {
  return admin.deps.database.transaction(async (tx) => {
    const apiKey = await tx.apiKeys.lock(admin.accountId, id)
    if (!apiKey) throw keyNotFound(id)
    if (apiKey.revokedAt) return apiKey
    await recordAudit(tx, { ...admin, accountId: apiKey.accountId }, 'key.revoke', id)
    return tx.apiKeys.revoke(id, new Date())
  })
}

/**
 * Creates a key with the same scopes and expiry. The old key stays valid for the overlap.
 * @throws ServiceError not_found, conflict for a key that is revoked or expired
 */
export async function rotateApiKey({
  admin,
  input: { id, overlapSeconds },
}: {
  admin: AdminCtx
  input: { id: string; overlapSeconds: number }
}): Promise<MadeApiKey & { oldExpiresAt: Date }> {
  const now = (await admin.deps.database.now()).getTime()
  return admin.deps.database.transaction(async (tx) => {
    const old = await tx.apiKeys.lock(admin.accountId, id)
    if (!old) throw keyNotFound(id)
    if (old.revokedAt || (old.expiresAt && old.expiresAt.getTime() <= now))
      throw new ServiceError('conflict', `Key ${id} is revoked or expired. Create a new key.`)
    const { accountId, name, scopes, expiresAt } = old
    const made = await make(tx, { accountId, name, scopes, expiresAt })
    const oldExpiresAt = new Date(
      Math.min(now + overlapSeconds * 1000, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY),
    )
    await tx.apiKeys.expire(id, oldExpiresAt)
    await recordAudit(tx, { ...admin, accountId }, 'key.rotate', `${id} ${made.apiKey.id}`)
    return { ...made, oldExpiresAt }
  })
}

async function make(tx: Repositories, key: NewKey): Promise<MadeApiKey> {
  const secret = makeApiKey()
  const parsed = parseApiKey(secret)
  if (!parsed) throw new Error('makeApiKey made a key that parseApiKey does not read')
  return { secret, apiKey: await tx.apiKeys.create({ ...parsed, ...key }) }
}
