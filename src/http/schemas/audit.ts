import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'
import { Time } from './training-job.ts'

export const AuditQuery = z.object({
  after: queryText().optional().describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 1000 }).optional(),
})

export const AuditTrail = named(
  'AuditTrail',
  z.object({
    events: z.array(
      z.object({
        id: z.string(),
        at: Time,
        key_id: z.string().nullable().describe('The id of the key, or operator'),
        action: z.string(),
        target: z.string().nullable(),
        request_id: z.string().nullable(),
        address: z.string().nullable(),
      }),
    ),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)
