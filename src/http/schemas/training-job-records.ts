import { z } from 'zod'
import { attemptPhases } from '../../domain/training-job-status.ts'
import { named } from '../edge/named-schemas.ts'
import { queryInt, queryText } from '../edge/params.ts'
import { Status, Time } from './training-job.ts'

export const LogQuery = z.object({
  attempt: queryInt({ min: 1, max: 1_000_000 }).optional().describe('The newest one when absent'),
  offset: queryInt({ min: 0, max: Number.MAX_SAFE_INTEGER }).optional().describe('In bytes'),
  limit: queryInt({ min: 16, max: 1_048_576 }).optional().describe('In bytes; 65536 when absent'),
})

export const Log = named(
  'TrainingJobLog',
  z.object({
    attempt: z.int(),
    text: z.string(),
    next_offset: z.int(),
    complete: z.boolean().describe('No more will come'),
  }),
)

export const EventQuery = z.object({ after: queryText().optional(), limit: queryInt({ min: 1, max: 1000 }).optional() })

export const EventList = named(
  'TrainingJobEventList',
  z.object({
    events: z.array(
      z.object({
        id: z.string(),
        at: Time,
        kind: z.enum(['status', 'command', 'attempt', 'note']),
        status: Status.nullable(),
        attempt: z.int().nullable(),
        reason: z.string().nullable(),
        message: z.string().nullable(),
        actor: z.string(),
      }),
    ),
    next: z.string().nullable().describe('`after` of the next page'),
  }),
)

export const AttemptQuery = z.object({
  before: queryInt({ min: 1, max: 1_000_000 }).optional(),
  limit: queryInt({ min: 1, max: 1000 }).optional(),
})

export const AttemptList = named(
  'AttemptList',
  z.object({
    attempts: z.array(
      z.object({
        attempt: z.int(),
        mode: z.enum(['train', 'evaluate']),
        phase: z.enum(attemptPhases).nullable(),
        cause: z.string().nullable().describe('Why it ended'),
        exit_code: z.int().nullable(),
        message: z.string().nullable(),
        from_step: z.int(),
        last_step: z.int().nullable(),
        created_at: Time,
        granted_at: Time.nullable().describe('When it got its slot'),
        claimed_at: Time.nullable().describe('When its program began'),
        ended_at: Time.nullable(),
      }),
    ),
    next: z.int().nullable().describe('`before` of the next page'),
  }),
)
