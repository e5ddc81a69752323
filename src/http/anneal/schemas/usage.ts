import { z } from 'zod'
import { usageDimensions, type UsageDimension } from '../../../domain/usage.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { AttemptSeconds } from './training-job-records.ts'

/** Years 1000 to 8999, so that ranges around the day stay within the dates of Postgres. */
const isDay = (text: string) =>
  /^[1-8]\d{3}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().startsWith(text)

export const queryDay = () =>
  queryText().refine(isDay, 'must be a day such as 2026-11-20').meta({ type: 'string', format: 'date' }).optional()

const isDimension = (word: string): word is UsageDimension => (usageDimensions as readonly string[]).includes(word)
const words = usageDimensions.join(', ')

export const UsageQuery = z.strictObject({
  from: queryDay().describe('The first day (UTC); default 29 days before `to`'),
  to: queryDay().describe('The last day (UTC), included; default today'),
  group_by: queryText()
    .transform((text) => text.split(','))
    .refine((list) => list.every(isDimension), `must be a comma-separated list of ${words}`)
    .transform((list) => list.filter(isDimension))
    .meta({ type: 'string', pattern: `^(${usageDimensions.join('|')})(,(${usageDimensions.join('|')}))*$` })
    .optional()
    .describe(`A comma-separated list of ${words}; all when absent`),
  after: queryText().optional().describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 1000 }).optional().describe('Entries of a page, default 100'),
})

export const TrainingUsageQuery = UsageQuery.pick({ from: true, to: true }).extend({
  group_by: z
    .enum(usageDimensions, `must be one of ${words}`)
    .optional()
    .describe('Splits the causes by the day of acceptance, the key or the base model of the jobs'),
})

const Day = z.string().describe('UTC, as in 2026-11-20')
const count = (says: string) => z.int().describe(says)

export const Currency = z
  .string()
  .optional()
  .describe('The currency of the costs, such as EUR; absent where the operator has set no prices')

export const CostMicros = z
  .int()
  .optional()
  .describe(
    'By the prices that are set now, in millionths of the currency; absent where the operator has set no prices',
  )

/** An entry has the fields that it is grouped by. */
const Group = {
  day: Day.optional(),
  key_id: z.string().nullable().optional().describe('The id of the key; null for work without a key'),
  model_name: z.string().optional().describe('A base model or a tuned model'),
}

export const Usage = named(
  'Usage',
  z.object({
    from: Day,
    to: Day,
    currency: Currency,
    usage: z
      .array(
        z.object({
          ...Group,
          display_name: z
            .string()
            .nullable()
            .optional()
            .describe('The name of the model for people, with model_name; null for a tuned model that was deleted'),
          key_name: z.string().nullable().optional().describe('The name of the key, with key_id; null without one'),
          prompts: count('Prompts completed and texts embedded'),
          prompt_tokens: count('Tokens read by the engines'),
          completion_tokens: count('Tokens written by the engines'),
          engine_seconds: z
            .number()
            .describe('Time of model servers; time spent on several requests at once is shared between them'),
          training_seconds: z
            .number()
            .describe('Time of training attempts that have ended; GET /v1/usage/training has those that run, too'),
          gpu_seconds: z.number().describe('engine_seconds and training_seconds, each times the number of GPUs'),
          cost_micros: CostMicros,
        }),
      )
      .describe('What was used, an entry for each day, key and model'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)

export const TrainingUsage = named(
  'TrainingUsage',
  z.object({
    from: Day,
    to: Day,
    causes: z
      .array(
        z.object({
          ...Group,
          cause: z.string().nullable().describe('Why these attempts ended; null for those that run'),
          attempts: count('Number of attempts'),
          training_seconds: AttemptSeconds.describe('Time of the attempts, in seconds'),
          gpu_seconds: AttemptSeconds.describe('training_seconds times the number of GPUs of each job'),
        }),
      )
      .describe('By group, the cause that lost most first. The newest 10,000 jobs of these days are counted'),
  }),
)
