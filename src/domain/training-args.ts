// Arguments of a fine-tune: from the request, from the catalogue, and the complete set for the trainer.
import { z } from 'zod'
import { invalidInput } from './service-error.ts'

const positive = z.number().positive()
const count = (most: number) => z.int().min(1).max(most)

/** By their names in transformers. */
export const schedules = [
  'linear',
  'cosine',
  'cosine_with_restarts',
  'polynomial',
  'constant',
  'constant_with_warmup',
  'inverse_sqrt',
] as const

export const EarlyStopping = z.object({
  patience: count(1000).describe('Validations in a row without a gain'),
  min_delta: z.number().min(0).max(1000).default(0).describe('The held-out loss has to fall by more than this'),
})

/** Defaults that the original platform documents. They are written nowhere else in the code. */
const defaults = {
  max_steps: 100,
  num_train_epochs: null,
  learning_rate: 9e-4,
  save_steps: 60,
  batch_size: 1,
  gradient_accumulation_steps: 2,
  max_length: 2048,
  optim: 'adafactor',
  warmup_steps: 0,
  lr_scheduler_type: 'linear',
  weight_decay: 0,
  max_grad_norm: 1,
  seed: 42,
  r_value: 64,
  lora_alpha: 64,
  lora_dropout: 0,
  keep_checkpoints: 1,
  target_modules: 'all-linear',
  eval_steps: null,
  keep: 'last',
  special_tokens: true,
  early_stopping: null,
} as const
export { defaults as documentedDefaults }

/**
 * Defaults of arguments that release 0.1.0 did not have. The trainer applies them: a job has such an argument only if its
 * request or its model names it, so jobs without one keep their spec_hash.
 */
export const laterDefaults = {
  warmup_ratio: null,
  use_rslora: false,
  gradient_checkpointing: 'auto',
  overlong: null,
  finetuning_type: 'lora',
  load_in_4bit: false,
  packing: null,
  shard_base: 'auto',
} as const

/** A job may lack these arguments. The cast holds, as the keys are those of `laterDefaults`. */
const isLater = Object.fromEntries(Object.keys(laterDefaults).map((name) => [name, true])) as Record<
  keyof typeof laterDefaults,
  true
>

/** Known keys of `finetune_args`. Null means absent. sent-args.ts reads what clients send beside them. */
const knownArgs = {
  max_steps: count(10_000_000).describe(`Optimizer steps of the run. Default ${defaults.max_steps}`),
  num_train_epochs: positive.max(100_000).describe('Passes over the training rows; replaces max_steps. No default'),
  learning_rate: positive.max(10).describe(`The highest learning rate. Default ${defaults.learning_rate}`),
  save_steps: count(10_000_000).describe(`Steps from one checkpoint to the next. Default ${defaults.save_steps}`),
  batch_size: count(100_000).describe(`Rows that a device reads at once. Default ${defaults.batch_size}`),
  gradient_accumulation_steps: count(100_000).describe(
    `Batches of one optimizer step. Default ${defaults.gradient_accumulation_steps}`,
  ),
  max_length: count(10_000_000).describe(
    `The most tokens of a row; longer rows are cut, and the context of the model is the limit. Default ${defaults.max_length}`,
  ),
  optim: z.string().min(1).max(64).describe(`The optimizer, by its name in transformers. Default ${defaults.optim}`),
  warmup_steps: z
    .int()
    .min(0)
    .max(10_000_000)
    .describe(`Steps in which the learning rate rises from 0. Default ${defaults.warmup_steps}`),
  lr_scheduler_type: z
    .enum(schedules)
    .describe(`How the learning rate changes after the warm-up. Default ${defaults.lr_scheduler_type}`),
  weight_decay: z.number().min(0).max(10).describe(`Weight decay of the optimizer. Default ${defaults.weight_decay}`),
  max_grad_norm: z
    .number()
    .min(0)
    .max(1e6)
    .describe(`Longer gradients are cut to this length. Default ${defaults.max_grad_norm}`),
  seed: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .describe(`Decides the order of rows and all other chance. Default ${defaults.seed}`),
  r_value: count(1024).describe(
    `Rank of the LoRA adapter. Default ${defaults.r_value}, or the most that the model allows`,
  ),
  lora_alpha: positive.max(65_536).describe('Scale of the LoRA adapter. Default: r_value'),
  lora_dropout: z.number().min(0).lt(1).describe(`Dropout of the LoRA adapter. Default ${defaults.lora_dropout}`),
  keep_checkpoints: z
    .int()
    .min(0)
    .max(100)
    .describe(`Checkpoints that are kept once the job is COMPLETED. Default ${defaults.keep_checkpoints}`),
  target_modules: z
    .union([z.string().min(1).max(200), z.array(z.string().min(1).max(200)).min(1).max(64)], {
      error: 'must be a string or a list of strings',
    })
    .describe(
      `The layers that the adapter changes: all-linear, or names of layers. Default ${defaults.target_modules}`,
    ),
  eval_steps: count(10_000_000).describe(
    'Steps from one validation on held-out rows to the next; default: ten times a run',
  ),
  keep: z
    .enum(['last', 'best'])
    .describe('The step whose model is published: the last one, or the best one by the held-out rows'),
  special_tokens: z
    .boolean()
    .describe(
      `Whether special tokens of the model, such as </s>, act in the input of a pair, which may be written by a template. Elsewhere in a row they are always text. Default ${defaults.special_tokens}`,
    ),
  early_stopping: EarlyStopping.describe('Ends the run once the held-out rows show no gain'),
  warmup_ratio: z
    .number()
    .min(0)
    .max(1)
    .describe('The share of all steps in which the learning rate rises from 0; warmup_steps above 0 replace it'),
  use_rslora: z
    .boolean()
    .describe(
      `Scales the adapter by lora_alpha / sqrt(r_value), not by lora_alpha / r_value. Default ${laterDefaults.use_rslora}`,
    ),
  gradient_checkpointing: z
    .union([z.enum(['auto']), z.boolean()], { error: 'must be "auto", true or false' })
    .describe(
      `Computes activations twice instead of keeping them: less memory, about a third more time, the same model. auto begins once a single row does not fit into the memory. Default ${laterDefaults.gradient_checkpointing}`,
    ),
  overlong: z
    .enum(['cut', 'drop', 'refuse'])
    .describe(
      'What happens to rows longer than max_length: they are cut, or left out, or the job fails. Default cut; drop with all methods but supervised',
    ),
  finetuning_type: z
    .enum(['lora'], { error: 'must be lora, which trains an adapter: full is not offered yet' })
    .describe(`What is trained. Default ${laterDefaults.finetuning_type}`),
  load_in_4bit: z
    .boolean()
    .describe(
      `Trains over the base in 4 bits a weight (NF4, as QLoRA does): a quarter of its memory. Default ${laterDefaults.load_in_4bit}`,
    ),
  packing: z
    .enum(['auto', 'off'])
    .describe(
      'auto lays the rows of a step end to end, without padding, where a GPU trains; the losses are the same but for rounding. Default off',
    ),
  shard_base: z
    .union([z.enum(['auto']), z.boolean()], { error: 'must be "auto", true or false' })
    .describe(
      `Each GPU of a job with several holds a share of the base, and gathers a layer while it computes: the same model, less memory, more time. auto does so for a base that would fill half of a GPU. Default ${laterDefaults.shard_base}`,
    ),
}

const optionalArgs = Object.fromEntries(Object.entries(knownArgs).map(([key, schema]) => [key, schema.nullish()]))

export const FinetuneArgs = z.object(
  optionalArgs as { [K in keyof typeof knownArgs]: z.ZodOptional<z.ZodNullable<(typeof knownArgs)[K]>> },
)
export type FinetuneArgs = z.infer<typeof FinetuneArgs>

export type RecommendedArgs = Partial<z.infer<z.ZodObject<typeof knownArgs>>>
type OfModel = { name: string; recommendedArgs: RecommendedArgs }

/** The arguments for the trainer. `num_train_epochs`, when set, replaces `max_steps`. */
export const TrainingArgs = z
  .object({
    ...knownArgs,
    num_train_epochs: knownArgs.num_train_epochs.nullable(),
    eval_steps: knownArgs.eval_steps.nullable(),
    early_stopping: knownArgs.early_stopping.nullable(),
    warmup_ratio: knownArgs.warmup_ratio.nullable(),
    overlong: knownArgs.overlong.nullable(),
    packing: knownArgs.packing.nullable(),
  })
  .partial(isLater)
export type TrainingArgs = z.infer<typeof TrainingArgs>

/** The learning rate of a request that names none. */
export const defaultLearningRate = ({ recommendedArgs }: { recommendedArgs: RecommendedArgs }) =>
  recommendedArgs.learning_rate ?? defaults.learning_rate

export type TrainingNote = { code: string; message: string }

/** A learning rate this many times above or below the model's own is told. */
const farRate = 10

function notesOnRate(learningRate: number | undefined, { name, recommendedArgs: { learning_rate: own } }: OfModel) {
  if (learningRate === undefined || own === undefined) return []
  const times = Math.max(learningRate / own, own / learningRate)
  if (times <= farRate) return []
  const [where, risk] = learningRate > own ? ['above', 'may diverge'] : ['below', 'may learn nothing']
  const message = `learning_rate ${learningRate} is ${Math.round(times)} times ${where} the ${own} that is recommended for ${name}: the training ${risk}.`
  return [{ code: 'learning_rate_far', message }]
}

/** Arguments of the request that others of the request switch off. */
function notesOnPairs(given: RecommendedArgs) {
  const { max_steps, num_train_epochs, warmup_steps, warmup_ratio, lr_scheduler_type } = given
  const code = 'argument_ignored'
  const warmup = warmup_steps ? `warmup_steps ${warmup_steps}` : warmup_ratio && `warmup_ratio ${warmup_ratio}`
  return [
    ...(max_steps !== undefined && num_train_epochs !== undefined
      ? [{ code, message: `max_steps ${max_steps} has no effect, because num_train_epochs replaces it.` }]
      : []),
    ...(warmup_steps && warmup_ratio !== undefined
      ? [{ code, message: `warmup_ratio ${warmup_ratio} has no effect, because warmup_steps replaces it.` }]
      : []),
    ...(warmup && lr_scheduler_type === 'constant'
      ? [{ code, message: `${warmup} has no effect with lr_scheduler_type constant. Use constant_with_warmup.` }]
      : []),
  ]
}

/** For a job without held-out rows. Its trainer adds an event with the same sentence (training_data.py). */
export function notesWithoutHeldOut({ keep, early_stopping: stopping }: Pick<TrainingArgs, 'keep' | 'early_stopping'>) {
  if (keep !== 'best' && stopping === null) return []
  const message =
    'This job has no held-out rows, so keep: "best" and early_stopping have no effect. Send eval_data, or at least 200 distinct rows.'
  return [{ code: 'validation_impossible', message }]
}

/**
 * Takes each argument from the request, else the catalogue, else the documented defaults. `lora_alpha` defaults to
 * `r_value`: the original platform documents 1, which learns nothing when applied literally.
 * @returns also the names of the arguments that the request gave
 * @throws ServiceError invalid_input for an adapter that no model server could hold, and for rows without room to learn
 */
export function resolveTrainingArgs(
  requested: FinetuneArgs,
  entry: OfModel & { contextLength: number; maxRank: number },
): { args: TrainingArgs; givenArgs: string[]; notes: TrainingNote[] } {
  const given = present(requested)
  if ((given.r_value ?? 0) > entry.maxRank)
    throw invalidInput('finetune_args.r_value', `r_value must be at most ${entry.maxRank} for ${entry.name}.`)
  if (given.max_length === 1)
    throw invalidInput(
      'finetune_args.max_length',
      'max_length must be at least 2: each token is learned from the ones before it.',
    )
  const r_value = Math.min(defaults.r_value, entry.maxRank)
  const args: TrainingArgs = { ...defaults, r_value, ...entry.recommendedArgs, ...given }
  if (given.lora_alpha === undefined && (given.r_value !== undefined || entry.recommendedArgs.lora_alpha === undefined))
    args.lora_alpha = args.r_value
  // The caller's max_steps takes precedence over the catalogue's epochs.
  if (given.max_steps !== undefined && given.num_train_epochs === undefined) args.num_train_epochs = null
  // So does a warm-up of the caller, in steps or as a share: of the two, warmup_steps above 0 count.
  if (given.warmup_ratio !== undefined && !given.warmup_steps) args.warmup_steps = 0
  if (given.warmup_steps !== undefined && given.warmup_ratio === undefined) delete args.warmup_ratio
  const notes: TrainingNote[] = [...notesOnRate(given.learning_rate, entry), ...notesOnPairs(given)]
  if (args.max_length > entry.contextLength) {
    if (given.max_length !== undefined)
      notes.push({
        code: 'max_length_cut',
        message: `max_length ${args.max_length} was cut to the model's context of ${entry.contextLength} tokens.`,
      })
    args.max_length = entry.contextLength
  }
  return { args, givenArgs: Object.keys(given), notes }
}

const present = (requested: FinetuneArgs): RecommendedArgs =>
  Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== null && value !== undefined))
