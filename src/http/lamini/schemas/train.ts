import { z } from 'zod'
import { mostDataSources } from '../../../domain/data-sources.ts'
import { Graders } from '../../../domain/grader.ts'
import { evaluationLimits } from '../../../domain/model-evaluation.ts'
import { namesOfMethods, SentFinetuneArgs, SentPeftArgs } from '../../../domain/sent-args.ts'
import { FinetuneArgs } from '../../../domain/training-args.ts'
import { MethodRequest } from '../../../domain/method-request.ts'
import { keepsEmpty } from '../../kit/empty-fields.ts'
import { named } from '../../kit/named-schemas.ts'
import { Integrations } from './integrations.ts'
import { Metadata } from './metadata.ts'
import { DataId } from './stored-data.ts'
import { ModelName } from './prompt.ts'

const maxRowDepth = 32

const Row = z
  .custom<Record<string, unknown>>(isRow, `must be an object, nested at most ${maxRowDepth} levels deep`)
  .meta({ type: 'object', description: '{"input", "output"}, or another row format' })

/** Clients of the old platform send 0 for the default. */
const Count = z
  .int()
  .min(0)
  .nullish()
  .transform((count) => count || null)
  .meta({ description: 'The default when absent or 0' })

const OldCount = Count.describe('An older name of the field without max_')

/** Unknown names are kept, so that they can be told; their values are not. */
function tellingUnknown<S extends z.ZodRawShape>(shape: S) {
  return z.object(shape).catchall(z.unknown().transform((value) => ((value ?? null) === null ? null : true)))
}

const GpuConfig = named(
  'GpuConfig',
  tellingUnknown({ gpus: Count, nodes: Count, max_gpus: OldCount, max_nodes: OldCount }).describe(
    'The GPUs of each node and the number of nodes; the default of the model when absent',
  ),
)

const Evaluation = named(
  'JobEvaluation',
  tellingUnknown({
    graders: Graders.nullish().describe('All graders but model; chosen by the expected outputs when absent'),
    max_rows: z.int().min(1).max(evaluationLimits.rows).nullish().describe('The first rows that are answered'),
    max_tokens: z.int().min(1).max(evaluationLimits.tokens).nullish().describe('The most tokens of an answer'),
    as_chat: z
      .boolean()
      .nullish()
      .describe(
        'true: rows without messages are asked as chats; false: as plain prompts. Absent: as chats if most rows of the training data are conversations. Rows with messages are always asked as chats',
      ),
    system: keepsEmpty(
      z
        .string()
        .max(8000)
        .nullish()
        .describe(
          'The system message before these rows. Absent: the one that most conversations of the training data have; "": none',
        ),
    ),
  }).describe('How the tuned model and its base are evaluated at the end of the job'),
)

const DataSets = z
  .array(
    z.strictObject({
      dataset_id: z.string().describe('The id of an existing data set; its newest version is used'),
      weight: z
        .number()
        .min(1e-6)
        .max(1e6)
        .nullish()
        .describe('How often rows of this set are visited, beside the weights of the others; 1 when absent'),
    }),
  )
  .min(1, 'must name at least one data set')
  .max(mostDataSources, `must name at most ${mostDataSources} data sets`)
  .describe(
    `Several data sets instead of one, ${mostDataSources} at most. Each set has its own passes, held-out rows and held-out loss; an epoch is a pass over as many rows as all sets have`,
  )

/** The kinds of training that the clients of the original platform name. */
const oldTrainTypes = ['memory_tuning', 'memory_rag', 'mome_mini'] as const

export const TrainRequest = named(
  'TrainRequest',
  tellingUnknown({
    model_name: ModelName,
    upload_file_path: z.string().min(1).max(4096).nullish().describe('A dataset_location, its path, or a data set id'),
    dataset_id: z
      .string()
      .nullish()
      .describe('The id of the data set: an existing one, or the one to store `data` under'),
    datasets: DataSets.nullish(),
    data: z.array(Row).nullish().describe('The rows themselves, stored under dataset_id'),
    id: DataId.nullish().describe('An id of POST /v1/svc/data: all of its rows are used'),
    eval_data: z.array(Row).nullish().describe('Rows to evaluate on, instead of rows that are set aside from the data'),
    skip_bad_rows: z
      .boolean()
      .nullish()
      .describe(
        'true trains on the good rows and leaves out the bad ones, 100,000 at most; a bad row fails the job when absent. Rows of eval_data are never left out',
      ),
    eval_dataset_id: z
      .string()
      .nullish()
      .describe('A data set to evaluate on, in place of eval_data. Its newest version is used'),
    finetune_args: named('FinetuneArgs', SentFinetuneArgs)
      .nullish()
      .describe('Arguments of the training. Defaults: those of the model, else the ones named here'),
    method: named('TrainingMethodRequest', MethodRequest)
      .nullish()
      .describe('How the model is trained, in the shape of OpenAI. Supervised when absent'),
    gpu_config: GpuConfig.nullish().describe('The GPUs of the job'),
    force: z
      .boolean()
      .nullish()
      .describe("true starts a training that does not fit into the memory of the model's GPUs, as far as it is known"),
    evaluation: Evaluation.nullish().describe('How the tuned model and its base are compared'),
    is_public: z.boolean().nullish().describe('Kept, without effect: jobs and models are private to the account'),
    dry_run: z.boolean().nullish().describe('As the query parameter of this name'),
    preview: z.boolean().nullish().describe('As the query parameter of this name'),
    custom_model_name: z
      .string()
      .max(256)
      .nullish()
      .describe('A name for the model. Each job with the same name makes its next version'),
    metadata: Metadata.nullish().describe('Up to 16 pairs that the job keeps; GET /v1/train/jobs filters by them'),
    integrations: Integrations.nullish().describe(
      'Trackers that the series, arguments and scores of the job are sent to',
    ),
    train_type: z
      .enum(oldTrainTypes)
      .nullish()
      .describe('Names of the original platform, without effect: each job trains an adapter on its rows'),
    enable_peft: z.boolean().nullish().describe('No effect: an adapter is trained in any case'),
    peft_args: SentPeftArgs.nullish().describe(
      'r_value, lora_alpha, lora_dropout, target_modules and use_rslora, where finetune_args has none',
    ),
  }),
)

/** The names that have an effect, by the field that holds them. */
export const trainNames = {
  body: Object.keys(TrainRequest.shape),
  gpu_config: Object.keys(GpuConfig.shape),
  evaluation: Object.keys(Evaluation.shape),
  elsewhere: [
    { field: 'finetune_args', names: Object.keys(FinetuneArgs.shape) },
    { field: 'gpu_config', names: Object.keys(GpuConfig.shape) },
    ...namesOfMethods,
  ],
} as const

export const TrainQuery = z.looseObject({
  dry_run: z
    .enum(['true', 'false'])
    .optional()
    .describe('true checks the request and its data, estimates the time, and creates nothing'),
  preview: z
    .enum(['true', 'false'])
    .optional()
    .describe(
      'true shows the first 20 rows as tokens with what the job would learn of them, and creates nothing. The server of the model encodes them',
    ),
})

/** Bounds the depth, because JSON.stringify recurses when the rows are written again. */
function isRow(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  let level: object[] = [value]
  for (let depth = 0; depth < maxRowDepth; depth += 1) {
    level = level.flatMap((each) => Object.values(each).filter((inner) => typeof inner === 'object' && inner !== null))
    if (level.length === 0) return true
  }
  return false
}
