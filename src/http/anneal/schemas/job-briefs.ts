// A job as a row of a list shows it: without arguments, attempts and links.
import { z } from 'zod'
import { openStatuses, parseStatus, type TrainingJobStatus } from '../../../domain/training-job-status.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { Progress, Queue } from '../../lamini/schemas/job-resource.ts'
import { maxJobId, Status, Time } from '../../lamini/schemas/training-job.ts'
import { queryDay } from './usage.ts'

const mostIds = 100

const statusesOf = (word: string): readonly TrainingJobStatus[] => {
  if (word === 'open') return openStatuses
  const status = parseStatus(word)
  return status ? [status] : []
}

const Statuses = queryText()
  .refine(
    (text) => text.split(',').every((word) => statusesOf(word).length > 0),
    'must be a comma-separated list of states, or of the word open',
  )
  .transform((text) => text.split(',').flatMap(statusesOf))
  .meta({ type: 'string' })

const Ids = queryText()
  .regex(/^[1-9]\d{0,9}(,[1-9]\d{0,9}){0,99}$/, `must be at most ${mostIds} job ids with commas between`)
  // Numbers that no job can have are ids of no job.
  .transform((text) =>
    text
      .split(',')
      .map(Number)
      .filter((id) => id <= maxJobId),
  )
  .meta({ type: 'string' })

export const JobBriefQuery = z
  .strictObject({
    limit: queryInt({ min: 1, max: 1000 }).optional().describe('Jobs of a page, default 100'),
    after: queryText().optional().describe('`next` of the previous page'),
    status: Statuses.optional().describe(
      'Only jobs in these states: a comma-separated list; `open` is all that have not ended',
    ),
    base_model: queryText().optional().describe('Only jobs on this base'),
    dataset_id: queryText().optional().describe('Only jobs on this data set'),
    key_id: queryText().optional().describe('Only jobs that this key has submitted'),
    from: queryDay().describe('Only jobs from this day on (UTC)'),
    to: queryDay().describe('Only jobs until this day, included (UTC)'),
    q: queryText().optional().describe('A part of the number, a name, the data set or the base of a job'),
    job_ids: Ids.optional().describe(
      `Only these jobs, at most ${mostIds}, with commas between. Takes no other parameter`,
    ),
  })
  .superRefine(({ job_ids: ids, ...others }, ctx) => {
    if (ids === undefined) return
    for (const [name, value] of Object.entries(others))
      if (value !== undefined)
        ctx.addIssue({ code: 'custom', path: [name], message: 'cannot be combined with job_ids' })
  })

const JobBrief = named(
  'TrainingJobBrief',
  z.object({
    job_id: z.int().describe('The id of the job'),
    status: Status.describe('The state of the job'),
    status_reason: z.string().nullable().describe('A machine-readable reason'),
    status_message: z.string().nullable().describe('Why the job waits or failed, and what to do'),
    requested_name: z.string().nullable().describe('The custom_model_name of the request; null without one'),
    display_name: z
      .string()
      .describe(
        'A name for people: pip@2, pip before the model has its version, and "products, run 2" without a custom name',
      ),
    model_name: z.string().nullable().describe('Null until the model is saved and verified'),
    base_model: z.string().describe('The catalogue name of the model that is trained'),
    dataset_id: z.string().describe('The data set of the job'),
    dataset_file: z.string().nullable().describe('The name of the file that was uploaded; null for other data sets'),
    key_id: z.string().describe('The key that submitted the job'),
    created_at: Time.describe('The time of acceptance'),
    started_at: Time.nullable().describe('When a trainer first claimed the job'),
    finished_at: Time.nullable().describe('When the job ended; null while it is open'),
    resume_count: z.int().describe('How often the job was resumed, after a failure or by a request'),
    resumable: z
      .boolean()
      .describe(
        'Whether the job can be resumed. False for one that failed by its data: GET /v1/train/jobs/{job_id} looks whether the data has changed',
      ),
    queue: Queue,
    progress: Progress,
    losses: z
      .array(z.number())
      .describe('At most 24 training losses spread over the run, the last one included; a curve of a few pixels'),
    valid_loss: z
      .number()
      .nullable()
      .describe('The newest held-out loss; null without a validation in the last 200 reports'),
    training_seconds: z.number().describe('Seconds of all attempts'),
    gpu_seconds: z.number().describe('training_seconds times the number of GPUs on all nodes; 0 on a CPU'),
  }),
)
export type JobBrief = z.infer<typeof JobBrief>

export const JobBriefs = named(
  'TrainingJobBriefs',
  z.object({
    jobs: z.array(JobBrief).describe('The jobs of the page, newest first'),
    next: z
      .string()
      .nullable()
      .describe('The `after` of the next page; null on the last. A filtered page may have few jobs and a next one'),
  }),
)
