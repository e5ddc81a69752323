import { z } from 'zod'
import { Person } from './person.ts'
import { scopes } from '../../../domain/scopes.ts'
import { apiKeyNotFound } from '../../../services/admin/api-keys.ts'
import { keepsEmpty } from '../../kit/empty-fields.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryFlag, queryInt, queryText } from '../../kit/params.ts'
import { shortened } from '../../kit/problem.ts'
import { Time } from '../../lamini/schemas/training-job.ts'

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

export const ApiKeyQuery = z.strictObject(keyPage)

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
        .describe(
          'When the key expires, such as 2027-01-31T00:00:00Z. When absent: with its maker, your key or your session of the console, or never for a maker without an end. A later time than that of the maker is refused, unless the operator allows it',
        ),
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

export const ApiKeyRevocationQuery = z.strictObject({
  descendants: queryFlag()
    .optional()
    .describe(
      'Whether the keys that this key made are revoked as well, with those that these made in turn; default false',
    ),
})

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
    maker_key_id: z
      .string()
      .nullable()
      .describe('The key that made this one; null for the keys that the operator made'),
    maker_session_id: z
      .string()
      .nullable()
      .describe('The session of the console by which that key acted; null when the key itself was sent'),
    person: Person.nullable().describe(
      'The person for whom the key stands, who signs in with the identity provider and has no secret here; null for a key of a program',
    ),
  }),
)

export const ApiKeyRevoked = named(
  'ApiKeyRevoked',
  z.object({
    ...ApiKeyAnswer.shape,
    also_revoked: z.array(z.string()).describe('The ids of the keys that were revoked with it'),
    still_valid: z
      .array(z.string())
      .describe(
        'The ids of valid keys that this key made, and that these made in turn, when they were not to be revoked',
      ),
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
