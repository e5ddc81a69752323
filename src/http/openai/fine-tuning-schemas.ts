import { z } from 'zod'
import { MethodRequest, sharedHyperparameters } from '../../domain/method-request.ts'
import { ResolvedHyperparameters, ShownMethod } from '../../domain/training-method.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { shortened } from '../kit/problem.ts'
import { jobNotFound } from '../../services/training-jobs/get.ts'
import { Integrations, ShownIntegration } from '../lamini/schemas/integrations.ts'
import { isMetadataFilter, Metadata } from '../lamini/schemas/metadata.ts'
import { ModelName } from '../lamini/schemas/prompt.ts'

const FileId = z.string().min(1).max(64)

export const FineTuningRequest = named(
  'OpenAiFineTuningRequest',
  z.strictObject({
    model: ModelName.describe('A base model or one of its aliases'),
    training_file: FileId.describe('The file of rows to train on'),
    validation_file: FileId.nullish().describe('A file of rows that are held out, to measure the loss on'),
    hyperparameters: z
      .strictObject(sharedHyperparameters)
      .nullish()
      .describe('The arguments of the training; auto for each when absent'),
    method: MethodRequest.nullish().describe('The method of training. Supervised when absent'),
    suffix: z.string().min(1).max(64).nullish().describe('A custom name for the model'),
    seed: z
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .nullish()
      .describe('Decides the order of rows and all other chance. Default 42'),
    force: z
      .boolean()
      .nullish()
      .describe("Not of OpenAI: true starts a training that does not fit into the memory of the model's GPUs"),
    metadata: Metadata.nullish().describe('Up to 16 pairs that the job keeps'),
    integrations: Integrations.nullish().describe(
      'Trackers that the series, arguments and scores of the job are sent to',
    ),
  }),
)
export type FineTuningRequest = z.output<typeof FineTuningRequest>

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
    object: z.literal('fine_tuning.job').describe('Always fine_tuning.job'),
    created_at: z.int().describe('Time of acceptance, in seconds since 1970'),
    finished_at: z.int().nullable().describe('When the job ended, in seconds since 1970; null while it is open'),
    model: z.string().describe('The base model'),
    fine_tuned_model: z
      .string()
      .nullable()
      .describe('The tuned model, as ft:base:account:suffix:id; null until it is saved'),
    organization_id: z.string().describe('The id of the account'),
    status: z
      .enum(openAiStatuses)
      .describe('The state of the job; docs/openai.md compares the states with those of /v1'),
    hyperparameters: ResolvedHyperparameters.describe('The arguments of the training'),
    method: ShownMethod.describe('The method of training'),
    training_file: z.string().describe('The file of rows that are trained on, the first one of several'),
    datasets: z
      .array(
        z.object({
          dataset_id: z.string().describe('The data set'),
          weight: z.number().describe('Its share of the visits, beside the weights of the others'),
        }),
      )
      .optional()
      .describe('All data sets of a job that POST /v1/train has given several'),
    validation_file: z.string().nullable().describe('The file of held-out rows; null without one'),
    display_name: z.string().describe('A name for people: pip@2, or "products, run 2" without a suffix'),
    result_files: z.array(z.string()).describe('The steps as CSV, once the job has ended'),
    trained_tokens: z.int().nullable().describe('Tokens trained on, once the job has ended'),
    estimated_finish: z
      .int()
      .nullable()
      .describe('When the trainer expects to end, in seconds since 1970; null unless the job trains'),
    error: z
      .object({
        code: z.string().describe('A machine-readable reason'),
        message: z.string().describe('The reason as a sentence'),
        param: z.string().nullable().describe('The parameter that is wrong; null without one'),
      })
      .describe('Why the job failed; null otherwise')
      .nullable(),
    user_provided_suffix: z.string().nullable().describe('The custom name of the model; null without one'),
    seed: z.int().describe('The seed of the run'),
    metadata: z.record(z.string(), z.string()).nullable().describe('The pairs of the request; null without any'),
    integrations: z.array(ShownIntegration).describe('The trackers of the job, without their credentials'),
  }),
)
export type FineTuningJob = z.output<typeof FineTuningJob>

const idOrNull = z.string().nullable()
const listOf = <T extends z.ZodType>(item: T) =>
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(item).describe('The items of the page, newest first'),
    first_id: idOrNull.describe('The id of the first item; null on an empty page'),
    last_id: idOrNull.describe('The id of the last item, the `after` of the next page; null on an empty page'),
    has_more: z.boolean().describe('Whether more follow'),
  })

export const FineTuningJobList = named('OpenAiFineTuningJobList', listOf(FineTuningJob))

export const FineTuningEventList = named(
  'OpenAiFineTuningEventList',
  listOf(
    z.object({
      id: z.string().describe('The id of the event'),
      object: z.literal('fine_tuning.job.event').describe('Always fine_tuning.job.event'),
      created_at: z.int().describe('When it happened, in seconds since 1970'),
      level: z.enum(['info', 'warn', 'error']).describe('How serious it is'),
      message: z.string().describe('The event as a sentence'),
      type: z.enum(['message', 'metrics']).describe('metrics: a step that was reported'),
      data: z
        .record(z.string(), z.unknown())
        .describe(
          'Details of the event. metrics have step, total_steps and train_loss, and valid_loss where held-out rows were validated',
        ),
    }),
  ),
)

export const FineTuningCheckpointList = named(
  'OpenAiFineTuningCheckpointList',
  listOf(
    z.object({
      id: z.string().describe('The id of the checkpoint'),
      object: z.literal('fine_tuning.job.checkpoint').describe('Always fine_tuning.job.checkpoint'),
      created_at: z.int().describe('When it was saved, in seconds since 1970'),
      fine_tuning_job_id: z.string().describe('The job that saved it'),
      fine_tuned_model_checkpoint: z.string().describe('Used as model in requests'),
      display_name: z.string().describe('A name for people: pip@2 for the model, "pip@2, step 60" for a checkpoint'),
      step_number: z.int().describe('The step that it was saved after'),
      metrics: z
        .looseObject({
          step: z.int().describe('The step'),
          train_loss: z.number().nullable().describe('Loss on the rows of the step; null when it was not reported'),
          train_mean_token_accuracy: z
            .number()
            .optional()
            .describe('Share of the tokens of the step that the model predicts right, from 0 to 1'),
          valid_loss: z.number().optional().describe('Of held-out rows; absent where none were validated at this step'),
          valid_mean_token_accuracy: z
            .number()
            .optional()
            .describe('Share of held-out tokens that the model predicts right, from 0 to 1'),
          full_valid_loss: z.number().optional().describe('Present where the validation took every held-out row'),
          full_valid_mean_token_accuracy: z
            .number()
            .optional()
            .describe('The accuracy where the validation took every held-out row'),
          train_mean_reward: z.number().optional().describe('Mean reward of the answers of the step; of reinforcement'),
          valid_mean_reward: z.number().optional().describe('Mean reward of answers to held-out prompts'),
          full_valid_mean_reward: z
            .number()
            .optional()
            .describe('The mean reward where the validation took every held-out prompt'),
        })
        .describe(
          'Figures of this step. Those of the method have train_ or valid_ before their names, as in the events of the type metrics',
        ),
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
    .meta({ type: 'string', pattern: '^ftjob-[1-9][0-9]{0,9}$' })
    .describe('The id of the job'),
})

function fail(error: Error): never {
  throw error
}
