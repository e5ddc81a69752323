// A training job as its answers tell it: the fields of the original platform, and what is known besides.
import { z } from 'zod'
import { ShownMethod } from '../../../domain/training-method.ts'
import { attemptPhases } from '../../../domain/training-job-status.ts'
import { named } from '../../kit/named-schemas.ts'
import { ShownIntegration } from './integrations.ts'
import { UsedGrader } from './scores.ts'
import { PreviewTotals } from './row-tokens.ts'
import { Status, Time } from './training-job.ts'

const Args = z.record(z.string(), z.unknown())

export const Queue = z
  .object({
    place: z.int().nullable().describe('Counts from 1, over all accounts; null when the job does not wait for a slot'),
    ahead: z.int().nullable().describe('Jobs that get a slot before this one'),
    reason: z.string().nullable().describe('A machine-readable reason'),
    message: z.string().nullable().describe('The reason as a sentence'),
  })
  .nullable()
  .describe('Why a QUEUED job waits; null in other states')

export const Progress = z
  .object({
    step: z.int().describe('The newest step that was reported'),
    of: z.int().nullable().describe('Steps of the whole run; null until the data is checked'),
    percent: z.number().nullable().describe('step as a percentage of `of`; null while `of` is'),
    tokens: z.int().nullable().describe('Tokens trained on; null when the trainer does not report them'),
    tokens_per_second: z
      .number()
      .nullable()
      .describe('Training tokens per second; null when the trainer does not report them'),
    remaining_seconds: z
      .number()
      .nullable()
      .describe(
        'An estimate of the trainer; null unless the job trains, and at its first step, which is slower than the others',
      ),
  })
  .nullable()
  .describe('Null until the first step is reported')

const Attempts = z
  .object({
    count: z.int().describe('Number of attempts'),
    newest: z
      .object({
        attempt: z.int().describe('The number of the attempt, from 1'),
        mode: z
          .enum(['train', 'evaluate'])
          .describe('evaluate: the attempt only repeats the evaluation of a saved model'),
        phase: z.enum(attemptPhases).nullable().describe('What the trainer does; null before its first report'),
        cause: z.string().nullable().describe('Why the attempt ended'),
        created_at: Time,
        claimed_at: Time.nullable().describe('When the program of the attempt started; null before'),
        ended_at: Time.nullable().describe('When the release of all its resources was confirmed; null before'),
      })
      .nullable()
      .describe('The newest attempt; null before the first one'),
    training_seconds: z
      .number()
      .describe('Seconds from the claim of each attempt to its confirmed release, or until now, added up'),
    gpu_seconds: z.number().describe('training_seconds times the number of GPUs on all nodes; 0 on a CPU'),
  })
  .describe('The attempts of the job')

const Links = z
  .object({
    self: z.string().describe('The job itself'),
    events: z.string().describe('Its events'),
    logs: z.string().describe('The log of its trainer'),
    attempts: z.string().describe('Its attempts'),
    metrics: z.string().describe('Its losses and other figures by step'),
    stream: z.string().describe('Its server-sent events'),
    evaluation: z.string().describe('The answers of the tuned model beside those of the base'),
    temporal_ui: z.url().nullable().describe('Null when the operator has not named the Temporal UI'),
  })
  .describe('Paths of this service, and the address of the workflow')

const resource = {
  base_model: z.string().describe('The catalogue name of the model that is trained'),
  finetune_args: Args.describe('Every argument of the run, with the defaults filled in'),
  finetune_args_defaults: z.array(z.string()).describe('Names of the arguments that the request did not give'),
  method: ShownMethod.extend({
    defaulted: z.array(z.string()).describe('Names of the hyperparameters that the request did not give'),
  }).describe("How the model is trained, in OpenAI's shape"),
  gpu_config: z
    .object({
      gpus: z.int().describe('GPUs of each node; 0 on a CPU'),
      nodes: z.int().describe('Number of nodes'),
    })
    .describe('The GPUs of the job'),
  created_at: Time.describe('The time of acceptance, as start_time'),
  started_at: Time.nullable().describe('When a trainer first claimed the job'),
  finished_at: Time.nullable().describe('When the job ended; null while it is open'),
  queue: Queue,
  progress: Progress,
  dataset: z
    .object({
      id: z.string().describe('The id of the data set'),
      display_name: z.string().describe('The name of its file; its id where no file name is known'),
      rows: z.int().nullable().describe('Rows of the data set; null until it is checked'),
      train_rows: z.int().nullable().describe('Rows that are trained on: without those set aside for the evaluation'),
      truncated_rows: z
        .int()
        .nullable()
        .describe(
          'Rows that the run visits and that are longer than max_length: they are cut. Null until the trainer has counted them',
        ),
      tokens: z
        .int()
        .nullable()
        .describe(
          'Of all rows, from a sample; null until the check, or without the tokenizer of the model on the server',
        ),
      counted: PreviewTotals.omit({ bad: true, complete: true })
        .extend({
          rows: z.int().describe('Training rows that were counted'),
          complete: z
            .boolean()
            .describe('Whether all training rows were counted. A run that visits a part of them counts that part'),
        })
        .nullable()
        .describe(
          'What the trainer has counted with the tokenizer of the model, each row once. Null until it has, before its first step',
        ),
    })
    .describe('The data of the job. Of several data sets the id is that of the first, and the counts are of all'),
  datasets: z
    .array(
      z.object({
        dataset_id: z.string().describe('The id of the data set'),
        weight: z.number().describe('How often its rows are visited, beside the weights of the others'),
        rows: z.int().nullable().describe('Rows of the data set; null until it is checked'),
        train_rows: z.int().nullable().describe('Rows of it that are trained on; null until it is checked'),
        held_out_rows: z.int().nullable().describe('Rows of it that are set aside for the evaluation'),
      }),
    )
    .optional()
    .describe('The data sets of a job that trains on several; absent for one'),
  skip_bad_rows: z.boolean().describe('Whether the job leaves out bad rows'),
  skipped_rows: z
    .int()
    .nullable()
    .describe(
      'Rows that are left out because they are bad; GET /v1/train/jobs/{job_id}/skipped-rows lists them. Null until the data is checked',
    ),
  attempts: Attempts,
  cost: z
    .object({
      currency: z.string().describe('Such as EUR'),
      micros: z.int().describe('Millionths of the currency'),
    })
    .optional()
    .describe(
      'What the attempts cost until now, by the prices that are set now; absent where the operator has set no prices',
    ),
  links: Links,
  sent_by: z
    .object({
      key_id: z.string().describe('The key that sent the request'),
      name: z
        .string()
        .nullable()
        .describe('The name of the key; of a person, the name and the mail address. Null once the key is removed'),
      person: z
        .object({
          subject: z.string().describe('The id of the person at the identity provider'),
          mail: z.string().nullable().describe('The mail address; null where the provider names none'),
        })
        .nullable()
        .describe('Who signed in with the identity provider. Only admins of the account see it; null for a key'),
    })
    .describe('Who submitted the job'),
  metadata: z.record(z.string(), z.string()).describe('The pairs of the request'),
  integrations: z.array(ShownIntegration).describe('The trackers of the job, without their credentials'),
}

export const JobSummary = named(
  'TrainingJobSummary',
  z.object({
    job_id: z.int().describe('The id of the job'),
    status: Status.describe(
      'The state of the job. COMPLETED, PARTIALLY COMPLETED, FAILED and CANCELLED are final unless the job is resumed',
    ),
    start_time: Time.describe('The time of acceptance'),
    model_name: z.string().nullable().describe('Null until the model is saved and verified'),
    custom_model_name: z.string().nullable().describe('The name that the request gave to the model; null without one'),
    requested_name: z
      .string()
      .nullable()
      .describe('The custom_model_name of the request, also before the model is saved; null without one'),
    display_name: z
      .string()
      .describe(
        'A name for people: pip@2, pip before the model has its version, and "products, run 2" without a custom name',
      ),
    resume_count: z.int().describe('How often the job was resumed, after a failure or by a request'),
    dataset_id: z.string().describe('The data set of the job'),
    resume_limit: z.int().describe('The most resumes of the job'),
    status_reason: z.string().nullable().describe('A machine-readable reason'),
    status_message: z.string().nullable().describe('Why the job waits or failed, and what to do'),
    ...resource,
  }),
)
export type JobSummary = z.infer<typeof JobSummary>

export const JobList = named('TrainingJobList', z.array(JobSummary))

export const Job = named(
  'TrainingJob',
  z.object({
    ...JobSummary.shape,
    is_public: z.boolean().describe('As the request had it. Has no effect: a job is private to its account'),
    history: z
      .string()
      .describe(
        'JSON text: a list of {loss, learning_rate, epoch, iter_time, flops, remaining_time, step} in the order of steps. Where held-out rows were validated, also {valid_loss, valid_token_accuracy}',
      ),
    resumable: z
      .boolean()
      .describe(
        'Whether the job can be resumed: it has ended without being complete, has resumes left, and has not failed by data that is still the same',
      ),
    evaluation: z
      .object({
        graders: z.array(UsedGrader).nullable().describe('Null: chosen by the expected outputs'),
        max_rows: z.int().nullable().describe('The first rows that are answered; null: all'),
        max_tokens: z.int().nullable().describe('The most tokens of an answer; null: chosen by the expected outputs'),
        as_chat: z.boolean().nullable().describe('Null: rows without messages are asked as the model learned'),
        system: z.string().nullable().describe('Null: the system message that the model learned'),
      })
      .nullable()
      .describe('What the request said of the evaluation at the end; null when nothing'),
    warnings: z
      .array(z.string())
      .describe('What of the request has no effect or is done in another way; empty when all is done'),
  }),
)
