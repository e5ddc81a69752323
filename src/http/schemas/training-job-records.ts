import { z } from 'zod'
import { attemptPhases } from '../../domain/training-job-status.ts'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'
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

const PageSize = queryInt({ min: 1, max: 1000 }).optional().describe('100 when absent')
const attemptNumber = () => queryInt({ min: 1, max: 1_000_000 }).optional()

export const EventQuery = z.object({
  after: queryText().optional().describe('The cursor that the Link header of the page before gave'),
  limit: PageSize,
})

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
  after: attemptNumber().describe('The cursor that the Link header of the page before gave'),
  before: attemptNumber().describe('The same, by its older name'),
  limit: PageSize,
})

const Seconds = z.object({
  allocated: z.number().describe('From its claim to its confirmed release, or until now'),
  productive: z.number(),
  lost: z.number().describe('Its start-up, and work after the last that was saved'),
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
        from_step: z.int().describe('The step of what it began with; 0 from the start'),
        first_step: z.int().nullable().describe('Null while no step is known'),
        last_step: z.int().nullable(),
        last_checkpoint_step: z.int().nullable().describe('Of the newest checkpoint, or the model, that it saved'),
        created_at: Time,
        granted_at: Time.nullable().describe('When it got its slot'),
        claimed_at: Time.nullable().describe('When its program began'),
        ended_at: Time.nullable().describe('When everything of it was confirmed gone'),
        gpu_count: z.int().describe('Of all its nodes; 0 on a CPU'),
        training_seconds: Seconds,
        gpu_seconds: Seconds.describe('The same, times its GPUs'),
      }),
    ),
    next: z.int().nullable().describe('`after` of the next page'),
  }),
)
