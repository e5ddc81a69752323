// The arguments of a fine-tune: what a request may say, what the catalogue recommends, what the trainer gets.
import { z } from 'zod'

const positive = z.number().positive()
const count = (most: number) => z.int().min(1).max(most)

/** Known keys of `finetune_args`; unknown ones are ignored because real scripts send many. Null is the same as absent. */
const knownArgs = {
  max_steps: count(10_000_000),
  num_train_epochs: positive.max(100_000),
  learning_rate: positive.max(10),
  save_steps: count(10_000_000),
  batch_size: count(100_000),
  gradient_accumulation_steps: count(100_000),
  max_length: count(10_000_000),
  optim: z.string().min(1).max(64),
  warmup_steps: z.int().min(0).max(10_000_000),
  lr_scheduler_type: z.enum(['linear', 'cosine', 'constant', 'constant_with_warmup', 'polynomial']),
  weight_decay: z.number().min(0).max(10),
  max_grad_norm: z.number().min(0).max(1e6),
  seed: z
    .int()
    .min(0)
    .max(2 ** 31 - 1),
  r_value: count(1024),
  lora_alpha: positive.max(65_536),
  lora_dropout: z.number().min(0).lt(1),
  target_modules: z.union([z.string().min(1).max(200), z.array(z.string().min(1).max(200)).min(1).max(64)], {
    error: 'must be a string or a list of strings',
  }),
}

const optionalArgs = Object.fromEntries(Object.entries(knownArgs).map(([key, schema]) => [key, schema.nullish()]))

export const FinetuneArgs = z.object(
  optionalArgs as { [K in keyof typeof knownArgs]: z.ZodOptional<z.ZodNullable<(typeof knownArgs)[K]>> },
)
export type FinetuneArgs = z.infer<typeof FinetuneArgs>

type Known = { [K in keyof typeof knownArgs]: z.infer<(typeof knownArgs)[K]> }
export type RecommendedArgs = Partial<Known>

/** What the trainer gets: complete, in the field's names. `num_train_epochs`, when set, replaces `max_steps`. */
export type TrainingArgs = Omit<Known, 'num_train_epochs'> & { num_train_epochs: number | null }

/** The defaults that the original platform documented. */
const documentedDefaults: TrainingArgs = {
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
  target_modules: 'all-linear',
}

/** What trains at when nobody says otherwise. */
export const defaultLearningRate = ({ recommendedArgs }: { recommendedArgs: RecommendedArgs }) =>
  recommendedArgs.learning_rate ?? documentedDefaults.learning_rate

export type TrainingNote = { code: string; message: string }

/**
 * Request over catalogue over documented defaults. `lora_alpha` follows `r_value` unless given: the alpha of 1 that the old
 * platform documents, taken literally, learns nothing.
 */
export function resolveTrainingArgs(
  requested: FinetuneArgs,
  entry: { contextLength: number; recommendedArgs: RecommendedArgs },
): { args: TrainingArgs; notes: TrainingNote[] } {
  const given = present(requested)
  const args: TrainingArgs = { ...documentedDefaults, ...entry.recommendedArgs, ...given }
  if (given.lora_alpha === undefined && (given.r_value !== undefined || entry.recommendedArgs.lora_alpha === undefined))
    args.lora_alpha = args.r_value
  // A number of steps that the caller asked for is not overruled by recommended epochs.
  if (given.max_steps !== undefined && given.num_train_epochs === undefined) args.num_train_epochs = null
  const notes: TrainingNote[] = []
  if (args.max_length > entry.contextLength) {
    if (given.max_length !== undefined)
      notes.push({
        code: 'max_length_cut',
        message: `max_length ${args.max_length} was cut to the model's context of ${entry.contextLength} tokens.`,
      })
    args.max_length = entry.contextLength
  }
  return { args, notes }
}

const present = (requested: FinetuneArgs): RecommendedArgs =>
  Object.fromEntries(Object.entries(requested).filter(([, value]) => value !== null && value !== undefined))
