// A training job as its answers tell it: the fields of the original platform, and what is known besides.
import { z } from 'zod'
import { attemptPhases } from '../../domain/training-job-status.ts'
import { named } from '../framework/named-schemas.ts'
import { Status, Time } from './training-job.ts'

const Args = z.record(z.string(), z.unknown())

const Queue = z
  .object({
    place: z.int().nullable().describe('Counts from 1, over all accounts; null when the job does not wait for a slot'),
    ahead: z.int().nullable().describe('Jobs that get a slot before this one'),
    reason: z.string().nullable(),
    message: z.string().nullable(),
  })
  .nullable()
  .describe('Why a QUEUED job waits; null in other states')

export const Progress = z
  .object({
    step: z.int().describe('The newest step that was reported'),
    of: z.int().nullable().describe('Steps of the whole run; null until the data is checked'),
    percent: z.number().nullable(),
    tokens: z.int().nullable().describe('Tokens trained on; null when the trainer does not report them'),
    tokens_per_second: z.number().nullable(),
    remaining_seconds: z.number().nullable().describe('An estimate of the trainer; null unless the job trains'),
  })
  .nullable()
  .describe('Null until the first step is reported')

const Attempts = z.object({
  count: z.int(),
  newest: z
    .object({
      attempt: z.int(),
      mode: z.enum(['train', 'evaluate']),
      phase: z.enum(attemptPhases).nullable(),
      cause: z.string().nullable().describe('Why the attempt ended'),
      created_at: Time,
      claimed_at: Time.nullable(),
      ended_at: Time.nullable(),
    })
    .nullable(),
})

const Links = z
  .object({
    self: z.string(),
    events: z.string(),
    logs: z.string(),
    attempts: z.string(),
    metrics: z.string(),
    stream: z.string(),
    evaluation: z.string(),
    temporal_ui: z.url().nullable().describe('Null when the operator has not named the Temporal UI'),
  })
  .describe('Paths of this service, and the address of the workflow')

const resource = {
  base_model: z.string().describe('The catalogue name of the model that is trained'),
  finetune_args: Args.describe('Every argument of the run, with the defaults filled in'),
  finetune_args_defaults: z
    .array(z.string())
    .nullable()
    .describe('Names of the arguments that the request did not give; null for jobs of earlier releases'),
  gpu_config: z.object({
    gpus: z.int().describe('GPUs of each node; 0 on a CPU'),
    nodes: z.int(),
  }),
  created_at: Time.describe('The time of acceptance, as start_time'),
  started_at: Time.nullable().describe('When a trainer first claimed the job'),
  finished_at: Time.nullable(),
  queue: Queue,
  progress: Progress,
  dataset: z.object({
    id: z.string(),
    rows: z.int().nullable().describe('Rows of the data set; null until it is checked'),
    train_rows: z.int().nullable().describe('Rows that are trained on: without those set aside for the evaluation'),
    truncated_rows: z
      .int()
      .nullable()
      .describe(
        'Rows that the run visits and that are longer than max_length: their end is cut. Null until the trainer has counted them',
      ),
    tokens: z.int().nullable().describe('Of all rows, from a sample; null until the check, or without a tokenizer'),
  }),
  attempts: Attempts,
  links: Links,
  metadata: z.record(z.string(), z.string()).describe('The pairs of the request'),
}

export const JobSummary = named(
  'TrainingJobSummary',
  z.object({
    job_id: z.int(),
    status: Status,
    start_time: Time.describe('The time of acceptance'),
    model_name: z.string().nullable().describe('Null until the model is saved and verified'),
    custom_model_name: z.string().nullable(),
    resume_count: z.int(),
    dataset_id: z.string(),
    resume_limit: z.int(),
    ...resource,
  }),
)
export type JobSummary = z.infer<typeof JobSummary>

export const JobList = named('TrainingJobList', z.array(JobSummary))

export const Job = named(
  'TrainingJob',
  z.object({
    ...JobSummary.shape,
    is_public: z.boolean(),
    history: z
      .string()
      .describe(
        'JSON text: a list of {loss, learning_rate, epoch, iter_time, flops, remaining_time, step} in the order of steps. Where held-out rows were validated, also {valid_loss, valid_token_accuracy}',
      ),
    status_reason: z.string().nullable().describe('A machine-readable reason'),
    status_message: z.string().nullable().describe('Why the job waits or failed, and what to do'),
  }),
)
