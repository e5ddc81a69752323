import { z } from 'zod'
import { priorities } from '../../domain/priority.ts'
import { scopes } from '../../domain/scopes.ts'
import { queryInt, queryText } from '../../http/framework/params.ts'

const defaultPageSize = 100
/** Ten years: a date that is far away is mistyped. */
const longestSeconds = 315_360_000

const Uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be the id of an account')
const KeyId = z.string().regex(/^[0-9a-f]{16}$/, 'must be the id of a key: the part between ank_ and the secret')
const Name = z.string().trim().min(1).max(100)
const limit = queryInt({ min: 1, max: 1000 }).default(defaultPageSize)
const nullable = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => (value ?? null) as z.output<T> | null)

export const AccountPath = z.object({ account_id: Uuid })
export const KeyPath = z.object({ key_id: KeyId })
export const NewAccount = z.object({ name: Name, priority: z.enum(priorities).nullish() })
export const AccountPriority = z.object({ priority: z.enum(priorities) })
export const AccountQuery = z.object({ after: nullable(queryText().pipe(Uuid)), limit })
export const KeyQuery = z.object({
  account_id: nullable(queryText().pipe(Uuid)),
  after: nullable(queryText().pipe(KeyId)),
  limit,
})
export const NewKey = z.object({
  account_id: nullable(Uuid),
  name: Name,
  scopes: z.array(z.enum(scopes)).transform((given) => [...new Set(given)]),
  expires_at: nullable(
    z.iso
      .datetime({ offset: true, error: 'must be a time such as 2027-01-31T00:00:00Z' })
      .transform((text) => new Date(text)),
  ),
})
export const Rotation = z.object({ overlap_seconds: z.int().min(0).max(longestSeconds).nullish() })

const Time = z.string()
export const AccountAnswer = z.object({
  id: z.string(),
  name: z.string(),
  priority: z.enum(priorities),
  created_at: Time,
})
export const AccountList = z.object({ accounts: z.array(AccountAnswer), next: z.string().nullable() })
export const AccountDeleted = z.object({ id: z.string(), deleted_objects: z.int(), deleted_jobs: z.int() })
export const KeyAnswer = z.object({
  id: z.string(),
  account_id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  created_at: Time,
  expires_at: Time.nullable(),
  revoked_at: Time.nullable(),
  last_used_at: Time.nullable(),
})
export const KeyList = z.object({ keys: z.array(KeyAnswer), next: z.string().nullable() })
/** `key` is shown here and never again. */
export const KeyMade = KeyAnswer.extend({ key: z.string() })
export const KeyRotated = KeyMade.extend({ old_id: z.string(), old_expires_at: Time })
