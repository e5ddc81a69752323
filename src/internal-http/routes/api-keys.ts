import { wireTime } from '../../domain/timestamps.ts'
import { defineRoute } from '../../http/framework/route.ts'
import type { ApiKey } from '../../repositories/api-keys.ts'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  type MadeApiKey,
} from '../../services/admin/api-keys.ts'
import { KeyAnswer, KeyList, KeyMade, KeyPath, KeyQuery, KeyRotated, NewKey, Rotation } from '../schemas/admin.ts'

const defaultOverlapSeconds = 24 * 60 * 60

export const apiKeyRoutes = [
  defineRoute({
    name: 'create_api_key',
    method: 'post',
    path: '/internal/v1/admin/keys',
    summary: 'Create a key. Its secret is shown only in this answer',
    access: 'admin',
    body: NewKey,
    response: KeyMade,
    async handle({ caller: admin, body: { account_id: accountId, name, scopes, expires_at: expiresAt } }) {
      return made(await createApiKey({ admin, input: { accountId, name, scopes, expiresAt } }))
    },
  }),
  defineRoute({
    name: 'list_api_keys',
    method: 'get',
    path: '/internal/v1/admin/keys',
    summary: 'List the keys of one account or of all, newest first',
    access: 'admin',
    query: KeyQuery,
    response: KeyList,
    async handle({ caller: admin, query: { account_id: accountId, after, limit } }) {
      const { apiKeys, next } = await listApiKeys({ admin, input: { accountId, after, limit } })
      return { keys: apiKeys.map(shown), next }
    },
  }),
  defineRoute({
    name: 'revoke_api_key',
    method: 'post',
    path: '/internal/v1/admin/keys/:key_id/revoke',
    summary: 'Revoke a key for good; takes effect within a second',
    access: 'admin',
    params: KeyPath,
    response: KeyAnswer,
    handle: async ({ caller: admin, params }) => shown(await revokeApiKey({ admin, input: { id: params.key_id } })),
  }),
  defineRoute({
    name: 'rotate_api_key',
    method: 'post',
    path: '/internal/v1/admin/keys/:key_id/rotate',
    summary: 'Create a key with the same scopes. The old key stays valid for the overlap, by default a day',
    access: 'admin',
    params: KeyPath,
    body: Rotation,
    response: KeyRotated,
    async handle({ caller: admin, params: { key_id: id }, body }) {
      const overlapSeconds = body.overlap_seconds ?? defaultOverlapSeconds
      const { oldExpiresAt, ...rotated } = await rotateApiKey({ admin, input: { id, overlapSeconds } })
      return { ...made(rotated), old_id: id, old_expires_at: wireTime(oldExpiresAt) }
    },
  }),
]

const timeOrNull = (date: Date | null) => date && wireTime(date)

const shown = ({ id, accountId, name, scopes, ...times }: ApiKey) => ({
  id,
  account_id: accountId,
  name,
  scopes,
  created_at: wireTime(times.createdAt),
  expires_at: timeOrNull(times.expiresAt),
  revoked_at: timeOrNull(times.revokedAt),
  last_used_at: timeOrNull(times.lastUsedAt),
})

const made = ({ apiKey, secret }: MadeApiKey) => ({ ...shown(apiKey), key: secret })
