import { z } from 'zod'
import { scopes } from '../../domain/scopes.ts'
import { apiKeyNotFound } from '../../services/admin/api-keys.ts'
import { keepsEmpty } from '../framework/empty-fields.ts'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'
import { shortened } from '../framework/problem.ts'
import { Time } from './training-job.ts'

/** Ten years: a date that is far away is mistyped. */
const longestSeconds = 315_360_000
const defaultPageSize = 100
const keyId = /^[0-9a-f]{16}$/

export const keyPage = {
  after: queryText()
    .regex(keyId, 'must be the id of a key: the part between ank_ and the secret')
    .nullish()
    .transform((id) => id ?? null)
    .describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 1000 }).default(defaultPageSize).describe('Keys of a page, default 100'),
}

export const ApiKeyQuery = z.object(keyPage)

/** Text that is no id gets the same 404 as an unknown id. */
export const ApiKeyPath = z.object({
  key_id: z
    .string()
    .transform((text) => {
      if (!keyId.test(text)) throw apiKeyNotFound(shortened(text))
      return text
    })
    .meta({ pattern: keyId.source })
    .describe('The id of the key: the part between ank_ and its secret'),
})

export const NewApiKey = named(
  'NewApiKey',
  z.object({
    name: z.string().trim().min(1).max(100).describe('A name for people to read'),
    scopes: z
      .array(z.enum(scopes))
      .transform((given) => [...new Set(given)])
      .describe('What the key may do; only scopes that your own key has'),
    // An empty time would make a key that never expires.
    expires_at: keepsEmpty(
      z.iso
        .datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' })
        .nullish()
        .transform((text) => (text == null ? null : new Date(text)))
        .describe('When the key expires, such as 2027-01-31T00:00:00Z; never when absent'),
    ),
  }),
)

export const ApiKeyRotation = named(
  'ApiKeyRotation',
  z.object({
    overlap_seconds: z
      .int()
      .min(0)
      .max(longestSeconds)
      .nullish()
      .describe('Seconds that the old key stays valid, default a day'),
  }),
)

export const ApiKeyAnswer = named(
  'ApiKey',
  z.object({
    id: z.string().describe('The id of the key: the part between ank_ and its secret'),
    name: z.string().describe('A name for people to read'),
    scopes: z.array(z.enum(scopes)).describe('What the key may do'),
    created_at: Time,
    expires_at: Time.nullable().describe('When the key expires; null for never'),
    revoked_at: Time.nullable().describe('When the key was revoked; null while it is not'),
    last_used_at: Time.nullable().describe('When the key was last used, to the minute; null for never'),
  }),
)

export const ApiKeyList = named(
  'ApiKeyList',
  z.object({
    keys: z.array(ApiKeyAnswer).describe('The keys of the page, newest first, with those that have ended'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)

const secret = { key: z.string().describe('The key itself. Shown only in this answer') }

export const ApiKeyMade = named('ApiKeyMade', z.object({ ...ApiKeyAnswer.shape, ...secret }))

export const ApiKeyRotated = named(
  'ApiKeyRotated',
  z.object({
    ...ApiKeyMade.shape,
    old_id: z.string().describe('The id of the old key'),
    old_expires_at: Time.describe('When the old key expires'),
  }),
)
