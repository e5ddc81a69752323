import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { queryInt, queryText } from '../framework/params.ts'
import { shortened } from '../framework/problem.ts'
import { jobNotFound } from '../../services/training-jobs/get.ts'
import { isMetadataFilter, Metadata } from '../schemas/metadata.ts'
import { ModelName } from '../schemas/prompt.ts'

const orAuto = <T extends z.ZodType>(schema: T, what: string) =>
  z.union([z.literal('auto'), schema], { error: `must be "auto" or ${what}` }).nullish()

const Hyperparameters = z.strictObject({
  n_epochs: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000'),
  batch_size: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000'),
  learning_rate_multiplier: orAuto(z.number().positive().max(1000), 'a number above 0, at most 1000'),
})

const FileId = z.string().min(1).max(64)

const noIntegration =
  'is not supported: the service sends nothing to a tracker. Read the series of the job as events of the type metrics, as its result_files (CSV), or from GET /v1/train/jobs/{job_id}/metrics and /stream, and log them with your tracker'

const NoIntegrations = z
  .array(z.unknown(), { error: 'must be a list without entries' })
  .max(0, { error: noIntegration })
  .nullish()

export const FineTuningRequest = named(
  'OpenAiFineTuningRequest',
  z.strictObject({
    model: ModelName.describe('A base model or one of its aliases'),
    training_file: FileId,
    validation_file: FileId.nullish(),
    hyperparameters: Hyperparameters.nullish(),
    method: z
      .strictObject({
        type: z.literal('supervised', { error: 'must be supervised: no other method is supported' }),
        supervised: z.strictObject({ hyperparameters: Hyperparameters.nullish() }).nullish(),
      })
      .nullish(),
    suffix: z.string().min(1).max(64).nullish(),
    seed: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .nullish(),
    metadata: Metadata.nullish(),
    integrations: NoIntegrations,
  }),
)
export type FineTuningRequest = z.output<typeof FineTuningRequest>

const resolved = z.union([z.literal('auto'), z.number()])
const ResolvedHyperparameters = z.object({
  n_epochs: resolved,
  batch_size: resolved,
  learning_rate_multiplier: resolved,
})

export const openAiStatuses = [
  'validating_files',
  'queued',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'paused',
] as const

export const FineTuningJob = named(
  'OpenAiFineTuningJob',
  z.object({
    id: z.string().describe('ftjob- and the job_id of the same job in /v1'),
    object: z.literal('fine_tuning.job'),
    created_at: z.int(),
    finished_at: z.int().nullable(),
    model: z.string(),
    fine_tuned_model: z.string().nullable(),
    organization_id: z.string(),
    status: z.enum(openAiStatuses),
    hyperparameters: ResolvedHyperparameters,
    method: z.object({
      type: z.literal('supervised'),
      supervised: z.object({ hyperparameters: ResolvedHyperparameters }),
    }),
    training_file: z.string(),
    validation_file: z.string().nullable(),
    result_files: z.array(z.string()).describe('The steps as CSV, once the job has ended'),
    trained_tokens: z.int().nullable().describe('Tokens trained on, once the job has ended'),
    estimated_finish: z.int().nullable().describe('An estimate of the trainer; null unless the job trains'),
    error: z.object({ code: z.string(), message: z.string(), param: z.string().nullable() }).nullable(),
    user_provided_suffix: z.string().nullable(),
    seed: z.int(),
    metadata: z.record(z.string(), z.string()).nullable(),
    integrations: z.array(z.string()),
  }),
)
export type FineTuningJob = z.output<typeof FineTuningJob>

const idOrNull = z.string().nullable()
const listOf = <T extends z.ZodType>(item: T) =>
  z.object({
    object: z.literal('list'),
    data: z.array(item),
    first_id: idOrNull,
    last_id: idOrNull,
    has_more: z.boolean(),
  })

export const FineTuningJobList = named('OpenAiFineTuningJobList', listOf(FineTuningJob))

export const FineTuningEventList = named(
  'OpenAiFineTuningEventList',
  listOf(
    z.object({
      id: z.string(),
      object: z.literal('fine_tuning.job.event'),
      created_at: z.int(),
      level: z.enum(['info', 'warn', 'error']),
      message: z.string(),
      type: z.enum(['message', 'metrics']).describe('metrics: a step that was reported'),
      data: z
        .record(z.string(), z.unknown())
        .describe('metrics have step, total_steps and train_loss, and valid_loss where held-out rows were validated'),
    }),
  ),
)

export const FineTuningCheckpointList = named(
  'OpenAiFineTuningCheckpointList',
  listOf(
    z.object({
      id: z.string(),
      object: z.literal('fine_tuning.job.checkpoint'),
      created_at: z.int(),
      fine_tuning_job_id: z.string(),
      fine_tuned_model_checkpoint: z.string().describe('Used as model in requests'),
      step_number: z.int(),
      metrics: z.object({
        step: z.int(),
        train_loss: z.number().nullable(),
        valid_loss: z.number().optional().describe('Of held-out rows; absent where none were validated at this step'),
        valid_mean_token_accuracy: z.number().optional(),
        full_valid_loss: z.number().optional().describe('Present where the validation took every held-out row'),
        full_valid_mean_token_accuracy: z.number().optional(),
      }),
    }),
  ),
)

const page = (what: string, defaultSize: number) => ({
  after: queryText().max(64).optional().describe(`The id of the last ${what} of the previous page`),
  limit: queryInt({ min: 1, max: 100 }).optional().describe(`Default ${defaultSize}`),
})

export const EventListQuery = z.strictObject(page('event', 20))
export const CheckpointListQuery = z.strictObject(page('checkpoint', 10))

/** Besides the named parameters it takes `metadata[key]=value`, any number of times. */
export const JobListQuery = z
  .object(page('job', 20))
  .catchall(queryText())
  .superRefine((query, context) => {
    const keys = Object.keys(query).filter((key) => !['after', 'limit'].includes(key) && !isMetadataFilter(key))
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: query })
  })

export const jobPrefix = 'ftjob-'
const maxJobId = 2 ** 31 - 1

/** @returns null for text that is no job id */
export function jobIdIn(text: string): number | null {
  const id = /^ftjob-([1-9]\d{0,9})$/.exec(text)?.[1]
  return id === undefined || Number(id) > maxJobId ? null : Number(id)
}

/** Text that is no id gets the same 404 as an unknown id. */
export const FineTuningJobPath = z.object({
  fine_tuning_job_id: z
    .string()
    .transform((text) => jobIdIn(text) ?? fail(jobNotFound(shortened(text))))
    .meta({ type: 'string', pattern: '^ftjob-[1-9][0-9]{0,9}$' }),
})

function fail(error: Error): never {
  throw error
}
