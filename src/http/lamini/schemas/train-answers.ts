// The answers to a request to train: a job, or what one would be.
import { z } from 'zod'
import { TrainingArgs } from '../../../domain/training-args.ts'
import { trainingJobStatuses } from '../../../domain/training-job-status.ts'
import { ShownMethod } from '../../../domain/training-method.ts'
import { named } from '../../kit/named-schemas.ts'
import { PreviewedTokens, PreviewTotals } from './row-tokens.ts'

const warnings = z
  .array(z.string())
  .optional()
  .describe(
    'What of the request has no effect or is done in another way, also events of the job. Absent when all is done',
  )

const TrainAnswer = named(
  'TrainAnswer',
  z.object({
    job_id: z.string().describe('The id of the job, as text'),
    status: z.enum(trainingJobStatuses).describe('The state of the job, CREATED'),
    dataset_id: z.string().describe('The data set of the job'),
    warnings,
  }),
)

const Range = z
  .object({
    low: z.number().describe('Lower end of the likely range'),
    likely: z.number().describe('The likeliest value'),
    high: z.number().describe('Upper end of the likely range'),
  })
  .nullable()

/** Typed clients can so read `job_id` of any answer. openapi-fetch forgets fields that can only be null. */
const noJob = z.string().nullish().describe('Absent: no job was made')

const DryRun = named(
  'TrainingEstimate',
  z.object({
    dry_run: z.literal(true).describe('Always true'),
    job_id: noJob,
    rows: z.int().describe('Rows of the data set'),
    skipped_rows: z
      .int()
      .optional()
      .describe('Rows of the data set that the job would leave out; absent without skip_bad_rows'),
    tokens: z
      .int()
      .nullable()
      .describe('Of all rows, from a sample, by the tokenizer of the model; null when it is not on the server'),
    learned_tokens: z
      .int()
      .nullable()
      .describe('Those of them that one pass learns, before rows are cut; null when tokens is, or for an old check'),
    counted_rows: z
      .int()
      .describe(
        'Rows of that sample: at most 1,000 of each data set, and 500,000 characters. The job counts its rows before its first step (dataset.counted)',
      ),
    steps: z.int().describe('Steps of the run'),
    epochs: z.number().describe('Passes over the training rows'),
    estimated_seconds: Range.describe(
      'From the start of the trainer to the end, without the time in the queue. Null when no job on this base has completed yet',
    ),
    estimated_gpu_seconds: Range.describe('estimated_seconds times the number of GPUs; null when the time is'),
    based_on: z
      .int()
      .describe('Complete jobs on this base and as many GPUs, of all accounts, that the estimate comes from'),
    memory_gib: z
      .object({
        estimated: z.number().describe('At the peak, in GiB, with the arguments of the run'),
        least: z
          .number()
          .describe(
            'With passes of a single row and gradient checkpointing, to which a trainer on a GPU falls back unless it shares the base',
          ),
        available: z.number().nullable().describe('Memory of a trainer, or of one GPU; null when it is not known'),
        parts: z
          .object({
            runtime: z.number().describe('Python and its libraries'),
            weights: z.number().describe('Weights of the base'),
            optimizer: z.number().describe('The adapter, its gradients and the moments of its optimizer'),
            activations: z.number().describe('What a pass keeps for the backward pass'),
            logits: z.number().describe('Logits of the learned tokens'),
            reference: z.number().describe('The adapter of the start'),
            sampler: z.number().describe('Keys and values of sampled answers'),
          })
          .describe('What adds up to estimated'),
      })
      .nullable()
      .describe('Null where the files or the tokenizer of the model are not on the server. Measured on CPUs only'),
    fits: z.boolean().nullable().describe('Whether the memory is enough; null when it is not known'),
    advice: z.array(z.string()).describe('What to change when it does not fit'),
    samples: z
      .int()
      .optional()
      .describe(
        'Answers that the steps sample, without those of validations; absent for all methods but reinforcement',
      ),
    sampled_tokens: z
      .object({
        likely: z
          .int()
          .describe(
            'As long as the answers of complete jobs on this base; without any, a quarter of max_completion_tokens',
          ),
        most: z.int().describe('Where every answer is as long as max_completion_tokens'),
      })
      .optional()
      .describe('Tokens of these answers'),
    judge_calls: z.int().optional().describe('Requests to models that judge these answers'),
    note: z.string().describe('How far to trust the estimate'),
    warnings,
  }),
)

const Preview = named(
  'TrainingPreview',
  z.object({
    preview: z.literal(true).describe('Always true'),
    job_id: noJob,
    rows: z.array(PreviewedTokens).describe('The first 20 rows of the data'),
    totals: PreviewTotals,
    method: ShownMethod.describe('The method of the job'),
    finetune_args: TrainingArgs.describe('The arguments of the job'),
    warnings,
  }),
)

export const TrainOrDryRun = named('TrainOrDryRun', z.union([TrainAnswer, DryRun, Preview]))
