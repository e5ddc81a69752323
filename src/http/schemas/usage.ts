import { z } from 'zod'
import { usageDimensions, type UsageDimension } from '../../domain/usage.ts'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'

/** The days around it, too, have four digits of a year that Postgres knows. */
const isDay = (text: string) =>
  /^[1-8]\d{3}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().startsWith(text)

const queryDay = () =>
  queryText().refine(isDay, 'must be a day such as 2026-11-20').meta({ type: 'string', format: 'date' }).optional()

const isDimension = (word: string): word is UsageDimension => (usageDimensions as readonly string[]).includes(word)
const words = usageDimensions.join(', ')

export const UsageQuery = z.object({
  from: queryDay().describe('The first day (UTC); when absent, 29 days before `to`'),
  to: queryDay().describe('The last day, itself included; when absent, today'),
  group_by: queryText()
    .transform((text) => text.split(','))
    .refine((list) => list.every(isDimension), `must be some of ${words}, with commas`)
    .transform((list) => list.filter(isDimension))
    .meta({ type: 'string', pattern: `^(${usageDimensions.join('|')})(,(${usageDimensions.join('|')}))*$` })
    .optional()
    .describe(`Some of ${words}, with commas; all of them when absent`),
  after: queryText().optional().describe('`next` of the page before'),
  limit: queryInt({ min: 1, max: 1000 }).optional(),
})

const Day = z.string().describe('UTC, as in 2026-11-20')
const count = (says: string) => z.int().describe(says)

export const Usage = named(
  'Usage',
  z.object({
    from: Day,
    to: Day,
    usage: z.array(
      z.object({
        day: Day.optional(),
        key_id: z
          .string()
          .nullable()
          .optional()
          .describe('The public part of the key; null: work that no key asked for'),
        model_name: z.string().optional().describe('A base model, or a tuned one'),
        prompts: count('Prompts completed and texts embedded'),
        prompt_tokens: count('Read by the engines'),
        completion_tokens: count('Written by the engines'),
        engine_seconds: z.number().describe('Of model servers; while one works for several, each has its share'),
        training_seconds: z.number().describe('Of training attempts'),
        gpu_seconds: z.number().describe('Both of these, times the GPUs that they had'),
      }),
    ),
    next: z.string().nullable().describe('`after` of the next page'),
  }),
)
