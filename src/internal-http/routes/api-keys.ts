// The keys of every account, with the account of each. src/http/anneal/keys.ts has the same for one account.
import { defineRoute } from '../../http/kit/route.ts'
import { madeApiKey, revokedApiKey, rotatedApiKey, shownApiKey } from '../../http/anneal/keys.ts'
import { ApiKeyRevocationQuery, ApiKeyRotation } from '../../http/anneal/schemas/keys.ts'
import type { ApiKey } from '../../repositories/api-keys.ts'
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from '../../services/admin/api-keys.ts'
import { KeyList, KeyMade, KeyPath, KeyQuery, KeyRevoked, KeyRotated, NewKey } from '../schemas/admin.ts'

export const apiKeyRoutes = [
  defineRoute({
    name: 'create_api_key',
    method: 'post',
    path: '/internal/v1/admin/keys',
    summary: 'Create a key. Its secret is shown only in this answer',
    access: 'admin',
    body: NewKey,
    errorStatuses: [409],
    response: KeyMade,
    async handle({ caller: admin, body: { account_id: accountId, name, scopes, expires_at: expiresAt } }) {
      const made = await createApiKey({ admin, input: { accountId, name, scopes, expiresAt } })
      return { ...madeApiKey(made), ...accountOf(made.apiKey) }
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
    query: ApiKeyRevocationQuery,
    response: KeyRevoked,
    async handle({ caller: admin, params: { key_id: id }, query: { descendants = false } }) {
      const revoked = await revokeApiKey({ admin, input: { id, descendants } })
      return { ...revokedApiKey(revoked), ...accountOf(revoked.apiKey) }
    },
  }),
  defineRoute({
    name: 'rotate_api_key',
    method: 'post',
    path: '/internal/v1/admin/keys/:key_id/rotate',
    summary: 'Create a key with the same scopes. The old key stays valid for the overlap, by default a day',
    access: 'admin',
    params: KeyPath,
    body: ApiKeyRotation,
    errorStatuses: [409],
    response: KeyRotated,
    async handle({ caller: admin, params: { key_id: id }, body: { overlap_seconds: overlapSeconds } }) {
      const rotated = await rotateApiKey({ admin, input: { id, overlapSeconds } })
      return { ...rotatedApiKey(rotated), ...accountOf(rotated.apiKey) }
    },
  }),
]

const accountOf = ({ accountId }: ApiKey) => ({ account_id: accountId })

const shown = (apiKey: ApiKey) => ({ ...shownApiKey(apiKey), ...accountOf(apiKey) })
