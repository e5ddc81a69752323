import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { Metric } from './job-metrics.ts'
import { Progress } from './job-resource.ts'
import { JobEvent } from './training-job-records.ts'
import { Status, Time } from './training-job.ts'

const State = z.object({
  status: Status,
  status_reason: z.string().nullable(),
  status_message: z.string().nullable(),
})

export const StreamQuery = z.object({
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
      attempt: z.int().nullable(),
      at: Time.nullable(),
    }).describe('event: status'),
    JobEvent.describe('event: event'),
    Metric.extend({ attempt: z.int() }).describe('event: metric. A later one of the same step replaces it'),
    Progress.unwrap().describe('event: progress'),
    z.object({ attempt: z.int(), line: z.string() }).describe('event: log'),
    State.extend({ model_name: z.string().nullable() }).describe('event: end. The stream closes after it'),
  ]),
)
