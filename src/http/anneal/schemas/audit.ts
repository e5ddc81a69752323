import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { Person } from './person.ts'
import { Time } from '../../lamini/schemas/training-job.ts'

export const AuditQuery = z.strictObject({
  after: queryText().optional().describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 1000 }).optional().describe('Events of a page, default 100'),
})

export const AuditTrail = named(
  'AuditTrail',
  z.object({
    events: z
      .array(
        z.object({
          id: z.string().describe('The id of the audit event'),
          at: Time,
          key_id: z.string().nullable().describe('The id of the key, or operator'),
          action: z.string().describe('The request or command, such as train'),
          target: z.string().nullable().describe('The id or name of the object that was changed; null without one'),
          request_id: z.string().nullable().describe('The X-Request-Id of the request; null without a request'),
          address: z.string().nullable().describe('The network address of the caller; null without one'),
          person: Person.nullable().describe('Who acted, if somebody had signed in; null for a key of a program'),
        }),
      )
      .describe('The events of the page, newest first'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)
