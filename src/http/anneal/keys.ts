// The keys of the caller's own account. Operators have the same routes for every account on the admin port.
import { wireTime } from '../../domain/timestamps.ts'
import type { ApiKey } from '../../repositories/api-keys.ts'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  type MadeApiKey,
  type RevokedApiKey,
  type RotatedApiKey,
} from '../../services/admin/api-keys.ts'
import { shownPerson } from './audit.ts'
import { defineRoute } from '../kit/route.ts'
import {
  ApiKeyList,
  ApiKeyMade,
  ApiKeyPath,
  ApiKeyQuery,
  ApiKeyRevocationQuery,
  ApiKeyRevoked,
  ApiKeyRotated,
  ApiKeyRotation,
  NewApiKey,
} from './schemas/keys.ts'

const path = '/v1/keys'
const byAdmin = { access: 'key', scope: 'admin' } as const

export const keyRoutes = [
  defineRoute({
    ...byAdmin,
    name: 'create_key',
    method: 'post',
    path,
    summary: 'Create a key of the account, which ends with its maker at the latest. It is shown only in this answer',
    body: NewApiKey,
    errorStatuses: [409],
    response: ApiKeyMade,
    async handle({ caller: ctx, body: { name, scopes, expires_at: expiresAt } }) {
      return madeApiKey(await createApiKey({ admin: ctx, input: { accountId: null, name, scopes, expiresAt } }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'list_keys',
    method: 'get',
    path,
    summary: 'List the keys of the account, newest first',
    query: ApiKeyQuery,
    response: ApiKeyList,
    async handle({ caller: ctx, query }) {
      const { apiKeys, next } = await listApiKeys({ admin: ctx, input: { accountId: null, ...query } })
      return { keys: apiKeys.map(shownApiKey), next }
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'rotate_key',
    method: 'post',
    path: `${path}/:key_id/rotate`,
    summary: 'Create a key with the same scopes. The old key stays valid for the overlap, by default a day',
    params: ApiKeyPath,
    body: ApiKeyRotation,
    errorStatuses: [409],
    response: ApiKeyRotated,
    async handle({ caller: ctx, params: { key_id: id }, body: { overlap_seconds: overlapSeconds } }) {
      return rotatedApiKey(await rotateApiKey({ admin: ctx, input: { id, overlapSeconds } }))
    },
  }),
  defineRoute({
    ...byAdmin,
    name: 'revoke_key',
    method: 'delete',
    path: `${path}/:key_id`,
    summary: 'Revoke a key for good, with its sessions of the console; takes effect within a second',
    params: ApiKeyPath,
    query: ApiKeyRevocationQuery,
    response: ApiKeyRevoked,
    handle: async ({ caller: ctx, params: { key_id: id }, query: { descendants = false } }) =>
      revokedApiKey(await revokeApiKey({ admin: ctx, input: { id, descendants } })),
  }),
]

const timeOrNull = (date: Date | null) => date && wireTime(date)

export const shownApiKey = ({ id, name, scopes, ...times }: ApiKey) => ({
  id,
  name,
  scopes,
  created_at: wireTime(times.createdAt),
  expires_at: timeOrNull(times.expiresAt),
  revoked_at: timeOrNull(times.revokedAt),
  last_used_at: timeOrNull(times.lastUsedAt),
  maker_key_id: times.makerKeyId,
  maker_session_id: times.makerSessionId,
  person: shownPerson(times.person),
})

export const revokedApiKey = ({ apiKey, alsoRevoked, stillValid }: RevokedApiKey) => ({
  ...shownApiKey(apiKey),
  also_revoked: alsoRevoked,
  still_valid: stillValid,
})

export const madeApiKey = ({ apiKey, secret }: MadeApiKey) => ({ ...shownApiKey(apiKey), key: secret })

export const rotatedApiKey = ({ oldId, oldExpiresAt, ...made }: RotatedApiKey) => ({
  ...madeApiKey(made),
  old_id: oldId,
  old_expires_at: wireTime(oldExpiresAt),
})
