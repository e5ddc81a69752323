// Manages API keys. A key is shown once; only its hash is stored. Every change commits with its audit event. The operator may
// do all of it for every account, a key with the scope admin for its own account.
import { makeApiKey, parseApiKey } from '../../domain/identifiers.ts'
import { scopes as allScopes, type Scope } from '../../domain/scopes.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { ApiKey } from '../../repositories/api-keys.ts'
import type { Repositories } from '../../repositories/database.ts'
import { recordAudit } from '../audit/record.ts'
import { requireScope, scopesOf } from '../authenticate.ts'
import type { AdminCtx } from '../context.ts'
import { findAccount } from './accounts.ts'
import { endOfNewKey, latestEndOf, requireEndForRotation } from './key-end.ts'

export type MadeApiKey = { apiKey: ApiKey; secret: string }
export type RotatedApiKey = MadeApiKey & { oldId: string; oldExpiresAt: Date }
/** `alsoRevoked`, `stillValid`: the ids of keys that the revoked key made, and that these made in turn. */
export type RevokedApiKey = { apiKey: ApiKey; alsoRevoked: string[]; stillValid: string[] }

type NewKey = Pick<ApiKey, 'accountId' | 'name' | 'scopes' | 'expiresAt'>

const defaultOverlapSeconds = 24 * 60 * 60

export const apiKeyNotFound = (id: string) => new ServiceError('not_found', `There is no key ${id}.`)

/**
 * A key that a key or a session makes ends with its maker at the latest, unless the operator has set `madeKeysEndWith`.
 * @throws ServiceError not_found, invalid_input, conflict; invalid_token for scopes that the caller lacks
 */
export async function createApiKey({
  admin,
  input: { accountId, ...input },
}: {
  admin: AdminCtx
  input: { accountId: string | null; name: string; scopes: Scope[]; expiresAt: Date | null }
}): Promise<MadeApiKey> {
  const account = accountId ?? admin.accountId
  if (account === null)
    throw invalidInput('account_id', 'account_id is required: send the id of the account that gets the key.')
  await findAccount(admin, account)
  if (input.expiresAt && input.expiresAt <= (await admin.deps.database.now()))
    throw invalidInput('expires_at', 'expires_at must be in the future.')
  await requireScopes(admin, input.scopes)
  return admin.deps.database.transaction(async (tx) => {
    await tx.accounts.hold(account)
    const expiresAt = endOfNewKey(admin, input.expiresAt, await latestEndOf(admin, tx))
    const made = await make(admin, tx, { ...input, expiresAt, accountId: account })
    await requireRoomForKey(admin, tx, account)
    await recordAudit(tx, { ...admin, accountId: account }, 'key.create', made.apiKey.id)
    return made
  })
}

/** Lists the keys of one account or of all, newest first. @throws ServiceError not_found, invalid_input */
export async function listApiKeys({
  admin,
  input: { accountId, after, limit },
}: {
  admin: AdminCtx
  input: { accountId: string | null; after: string | null; limit: number }
}): Promise<{ apiKeys: ApiKey[]; next: string | null }> {
  const account = accountId ?? admin.accountId
  if (account !== null) await findAccount(admin, account)
  const apiKeys = await admin.deps.database.apiKeys.list(account, { after, limit })
  if (!apiKeys) throw invalidInput('after', 'after must be the `next` of an earlier page.')
  return { apiKeys, next: apiKeys.length === limit ? (apiKeys.at(-1)?.id ?? null) : null }
}

/**
 * Every api process refuses the key within a second. `descendants` revokes the keys that it made as well, and those that these
 * made in turn. A repeat changes nothing.
 * @throws ServiceError not_found
 */
export async function revokeApiKey({
  admin,
  input: { id, descendants },
}: {
  admin: AdminCtx
  input: { id: string; descendants: boolean }
}): Promise<RevokedApiKey> {
  const found = await admin.deps.database.apiKeys.find(admin.accountId, id)
  if (!found) throw apiKeyNotFound(id)
  return admin.deps.database.transaction(async (tx) => {
    // A key that is making another one at this moment finishes before, or finds itself revoked.
    await tx.accounts.hold(found.accountId)
    const by = { ...admin, accountId: found.accountId }
    const revoke = async (each: string) => {
      await recordAudit(tx, by, 'key.revoke', each)
      return tx.apiKeys.revoke(each, new Date())
    }
    const old = await tx.apiKeys.lock(admin.accountId, id)
    if (!old) throw apiKeyNotFound(id)
    const apiKey = old.revokedAt ? old : await revoke(id)
    const made = await tx.apiKeys.liveDescendants(id)
    if (!descendants) return { apiKey, alsoRevoked: [], stillValid: made }
    for (const each of made) await revoke(each)
    return { apiKey, alsoRevoked: made, stillValid: [] }
  })
}

/**
 * Creates a key with the same scopes and expiry. The old key stays valid for the overlap.
 * @throws ServiceError not_found; conflict for a key that is revoked, expired or outlives the caller, and without room for one
 * more; invalid_token for scopes that the caller lacks
 */
export async function rotateApiKey({
  admin,
  input: { id, overlapSeconds },
}: {
  admin: AdminCtx
  input: { id: string; overlapSeconds: number | null | undefined }
}): Promise<RotatedApiKey> {
  const { database } = admin.deps
  const now = (await database.now()).getTime()
  const found = await database.apiKeys.find(admin.accountId, id)
  if (!found) throw apiKeyNotFound(id)
  if (found.person)
    throw new ServiceError('conflict', `Key ${id} stands for a person, who has no secret here. Create a key instead.`)
  await requireScopes(admin, found.scopes)
  return database.transaction(async (tx) => {
    // Before the key: a sign-in holds the account when it refers to the key.
    await tx.accounts.hold(found.accountId)
    const old = await tx.apiKeys.lock(admin.accountId, id)
    if (!old) throw apiKeyNotFound(id)
    if (old.revokedAt || (old.expiresAt && old.expiresAt.getTime() <= now))
      throw new ServiceError('conflict', `Key ${id} is revoked or expired. Create a new key.`)
    const { accountId, name, scopes, expiresAt } = old
    requireEndForRotation(admin, id, expiresAt, await latestEndOf(admin, tx))
    const made = await make(admin, tx, { accountId, name, scopes, expiresAt })
    const overlapMs = (overlapSeconds ?? defaultOverlapSeconds) * 1000
    const oldExpiresAt = new Date(Math.min(now + overlapMs, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY))
    await tx.apiKeys.expire(id, oldExpiresAt)
    await requireRoomForKey(admin, tx, accountId)
    await recordAudit(tx, { ...admin, accountId }, 'key.rotate', `${id} ${made.apiKey.id}`)
    return { ...made, oldId: id, oldExpiresAt }
  })
}

/** Nobody gets more from a key than it may do itself. @throws ServiceError invalid_token */
async function requireScopes(admin: AdminCtx, wanted: readonly Scope[]) {
  const scopes = admin.accountId === null ? [...allScopes] : await scopesOf(admin)
  for (const scope of wanted) requireScope({ scopes, person: admin.person ?? null }, scope)
}

/** Call it in the transaction that holds the account and has added a key. @throws ServiceError conflict */
async function requireRoomForKey({ deps: { settings } }: AdminCtx, tx: Repositories, accountId: string) {
  if ((await tx.apiKeys.countLive(accountId)) <= settings.maxLiveKeys) return
  throw new ServiceError('conflict', `An account has at most ${settings.maxLiveKeys} valid keys. Revoke one first.`)
}

async function make(admin: AdminCtx, tx: Repositories, key: NewKey): Promise<MadeApiKey> {
  const secret = makeApiKey()
  const parsed = parseApiKey(secret)
  if (!parsed) throw new Error('makeApiKey made a key that parseApiKey does not read')
  return { secret, apiKey: await tx.apiKeys.create({ ...parsed, ...key, ...makerOf(admin) }) }
}

/** Nobody but the maker has seen the secret of the key. */
const makerOf = ({ accountId, apiKeyId, sessionId }: AdminCtx) => ({
  makerKeyId: accountId === null ? null : apiKeyId,
  makerSessionId: sessionId ?? null,
})
