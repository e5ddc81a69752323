import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { Metric } from './job-metrics.ts'
import { Progress } from '../../lamini/schemas/job-resource.ts'
import { JobEvent } from './training-job-records.ts'
import { Status, Time } from '../../lamini/schemas/training-job.ts'

const State = z.object({
  status: Status.describe('The state of the job'),
  status_reason: z.string().nullable().describe('A machine-readable reason'),
  status_message: z.string().nullable().describe('Why the job waits or failed, and what to do'),
})

export const StreamQuery = z.strictObject({
  from: z
    .enum(['start', 'now'])
    .optional()
    .describe('now leaves out what was before, but for the newest status and progress. Last-Event-ID takes precedence'),
})

/** Server-sent events: `event` names the kind, `id` is what Last-Event-ID takes, `data` is one of these as JSON. */
export const JobStream = named(
  'TrainingJobStream',
  z.union([
    State.extend({
      event_id: z
        .string()
        .nullable()
        .describe('The id in the list of events; null for a new reason of the same status'),
      attempt: z.int().nullable().describe('The attempt that the event is about; null without one'),
      at: Time.nullable().describe('When the state began'),
    }).describe('event: status'),
    JobEvent.describe('event: event'),
    Metric.extend({ attempt: z.int().describe('The attempt that reported the figures') }).describe(
      'event: metric. A later one of the same step replaces it',
    ),
    Progress.unwrap().describe('event: progress'),
    z
      .object({
        attempt: z.int().describe('The attempt that wrote the line'),
        line: z.string().describe('A line of the log of the trainer'),
      })
      .describe('event: log'),
    State.extend({
      model_name: z.string().nullable().describe('The name of the tuned model; null when the job has none'),
    }).describe('event: end. The stream closes after it'),
  ]),
)
