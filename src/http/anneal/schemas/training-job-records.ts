import { z } from 'zod'
import { attemptPhases } from '../../../domain/training-job-status.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { Status, Time } from '../../lamini/schemas/training-job.ts'

export const LogQuery = z.strictObject({
  attempt: queryInt({ min: 1, max: 1_000_000 }).optional().describe('The newest attempt when absent'),
  offset: queryInt({ min: 0, max: Number.MAX_SAFE_INTEGER }).optional().describe('In bytes'),
  limit: queryInt({ min: 16, max: 1_048_576 }).optional().describe('In bytes; default 65536'),
})

export const Log = named(
  'TrainingJobLog',
  z.object({
    attempt: z.int().describe('The attempt that wrote the log'),
    text: z.string().describe('The log from offset on; it ends with a whole character'),
    next_offset: z.int().describe('The byte to go on from: the `offset` of the next request'),
    complete: z.boolean().describe('True when nothing more will be added'),
  }),
)

const PageSize = queryInt({ min: 1, max: 1000 }).optional().describe('Default 100')
const attemptNumber = () => queryInt({ min: 1, max: 1_000_000 }).optional()

export const EventQuery = z.strictObject({
  after: queryText().optional().describe('The cursor from the Link header of the previous page'),
  limit: PageSize,
})

export const JobEvent = z.object({
  id: z.string().describe('The id of the event, which rises with time'),
  at: Time,
  kind: z
    .enum(['status', 'command', 'attempt', 'note'])
    .describe(
      'status: the state changed; command: a request was accepted; attempt: an attempt began or ended; note: something to know',
    ),
  status: Status.nullable().describe('The new state; null for other kinds'),
  attempt: z.int().nullable().describe('The attempt that the event is about; null without one'),
  reason: z.string().nullable().describe('A machine-readable reason; null without one'),
  message: z.string().nullable().describe('The event as a sentence; null without one'),
  actor: z.string().describe('The part of the service that made the change, or the key of the request'),
})

export const ListedEvent = JobEvent.extend({
  actor_name: z.string().nullable().describe('The name of the key; null for a part of the service'),
})

export const EventList = named(
  'TrainingJobEventList',
  z.object({
    events: z.array(ListedEvent).describe('The events of the page, oldest first'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)

export const AttemptQuery = z.strictObject({
  after: attemptNumber().describe('The cursor from the Link header of the previous page'),
  before: attemptNumber().describe('An older name of `after`'),
  limit: PageSize,
})

export const AttemptSeconds = z.object({
  allocated: z.number().describe('From the claim of the attempt to its confirmed release, or until now'),
  productive: z.number().describe('Work that a checkpoint or the model keeps'),
  lost: z.number().describe('Start-up, and work after the last checkpoint'),
})

export const AttemptList = named(
  'AttemptList',
  z.object({
    attempts: z
      .array(
        z.object({
          attempt: z.int().describe('The number of the attempt, from 1'),
          mode: z
            .enum(['train', 'evaluate'])
            .describe('evaluate: the attempt only repeats the evaluation of a saved model'),
          phase: z
            .enum(attemptPhases)
            .nullable()
            .describe('What the trainer does or did last; null before its first report'),
          cause: z.string().nullable().describe('Why the attempt ended'),
          exit_code: z
            .int()
            .nullable()
            .describe('The exit code of the program; null while it runs or when it is unknown'),
          message: z.string().nullable().describe('The cause as a sentence; null while the attempt runs'),
          from_step: z.int().describe('The step of the checkpoint that the attempt started from; 0 without one'),
          first_step: z.int().nullable().describe('Null until a step is reported'),
          last_step: z.int().nullable().describe('The newest step that was reported; null until a step is'),
          last_checkpoint_step: z
            .int()
            .nullable()
            .describe('The step of the newest checkpoint or model that the attempt saved'),
          created_at: Time,
          granted_at: Time.nullable().describe('When the attempt got its slot'),
          claimed_at: Time.nullable().describe('When the program of the attempt started'),
          ended_at: Time.nullable().describe('When the release of all its resources was confirmed'),
          gpu_count: z.int().describe('On all nodes; 0 on a CPU'),
          training_seconds: AttemptSeconds.describe('Time of the attempt, in seconds'),
          gpu_seconds: AttemptSeconds.describe('training_seconds times gpu_count'),
        }),
      )
      .describe('The attempts of the page, newest first'),
    next: z.int().nullable().describe('The `after` of the next page; null on the last'),
  }),
)

/** Its media type is application/octet-stream. */
export const SkippedRows = named(
  'SkippedRows',
  z.unknown().describe('The rows that were left out: {"line": 7, "field": "output", "reason": "is empty"} a line'),
)
