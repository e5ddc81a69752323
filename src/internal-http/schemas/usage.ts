import { z } from 'zod'
import { CostMicros, Currency, UsageQuery } from '../../http/anneal/schemas/usage.ts'
import { queryText } from '../../http/kit/params.ts'
import { accountUsageDimensions, type AccountUsageDimension } from '../../services/admin/usage.ts'
import { AccountPath } from './admin.ts'

const isDimension = (word: string): word is AccountUsageDimension =>
  (accountUsageDimensions as readonly string[]).includes(word)

export const AccountUsageQuery = z.strictObject({
  ...UsageQuery.pick({ from: true, to: true, after: true, limit: true }).shape,
  account_id: queryText().pipe(AccountPath.shape.account_id).optional(),
  group_by: queryText()
    .transform((text) => text.split(','))
    .refine((list) => list.every(isDimension), `must be a comma-separated list of ${accountUsageDimensions.join(', ')}`)
    .transform((list) => list.filter(isDimension))
    .optional(),
  /** csv answers every line of these days. */
  format: z.enum(['json', 'csv'], 'must be json or csv').optional(),
})

export const AccountUsageAnswer = z.object({
  from: z.string(),
  to: z.string(),
  currency: Currency,
  usage: z.array(
    z.object({
      day: z.string().optional(),
      account_id: z.string().optional(),
      account_name: z.string().optional(),
      model_name: z.string().optional(),
      display_name: z.string().nullable().optional(),
      prompts: z.int(),
      prompt_tokens: z.int(),
      completion_tokens: z.int(),
      engine_seconds: z.number(),
      training_seconds: z.number(),
      gpu_seconds: z.number(),
      cost_micros: CostMicros,
    }),
  ),
  next: z.string().nullable(),
})
