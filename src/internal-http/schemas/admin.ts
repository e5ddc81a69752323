import { z } from 'zod'
import { priorities } from '../../domain/priority.ts'
import { queryInt, queryText } from '../../http/kit/params.ts'
import {
  ApiKeyAnswer,
  ApiKeyMade,
  ApiKeyPath,
  ApiKeyRevoked,
  ApiKeyRotated,
  keyPage,
  NewApiKey,
} from '../../http/anneal/schemas/keys.ts'

const defaultPageSize = 100

const Uuid = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be the id of an account')
const Name = z.string().trim().min(1).max(100)
const limit = queryInt({ min: 1, max: 1000 }).default(defaultPageSize)
const nullable = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => (value ?? null) as z.output<T> | null)

export const AccountPath = z.object({ account_id: Uuid })
export const KeyPath = ApiKeyPath
export const NewAccount = z.object({ name: Name, priority: z.enum(priorities).nullish() })
export const AccountPriority = z.object({ priority: z.enum(priorities) })
export const AccountQuery = z.strictObject({ after: nullable(queryText().pipe(Uuid)), limit })
export const KeyQuery = z.strictObject({ account_id: nullable(queryText().pipe(Uuid)), ...keyPage })
export const NewKey = z.object({ account_id: nullable(Uuid), ...NewApiKey.shape })

const Time = z.string()
export const AccountAnswer = z.object({
  id: z.string(),
  name: z.string(),
  priority: z.enum(priorities),
  created_at: Time,
})
export const AccountList = z.object({ accounts: z.array(AccountAnswer), next: z.string().nullable() })
export const AccountDeleted = z.object({ id: z.string(), deleted_objects: z.int(), deleted_jobs: z.int() })
const account = { account_id: z.string() }
const KeyAnswer = ApiKeyAnswer.extend(account)
export const KeyList = z.object({ keys: z.array(KeyAnswer), next: z.string().nullable() })
export const KeyMade = ApiKeyMade.extend(account)
export const KeyRotated = ApiKeyRotated.extend(account)
export const KeyRevoked = ApiKeyRevoked.extend(account)
