// Arguments of a fine-tune as clients send them: our own, those that the old platform documents, and what its users took over
// from transformers. A note tells what has no effect here.
import { z } from 'zod'
import { ignored, notesOnNames } from './argument-names.ts'
import { offeredMethods, trainingMethods } from './method-table.ts'
import { documentedDefaults, EarlyStopping, FinetuneArgs, schedules, type TrainingNote } from './training-args.ts'

/** `early_stopping: true` means these settings. */
const usualStopping = EarlyStopping.parse({ patience: 3 })

/** Schedules of transformers that need settings of their own. */
const otherSchedules = ['reduce_lr_on_plateau', 'cosine_with_min_lr', 'warmup_stable_decay'] as const

const ownOptimizers = ['adafactor', 'sgd', 'adamw', 'adamw_hf', 'adamw_torch', 'adamw_torch_fused']

const { shape } = FinetuneArgs

/** An argument that may be null or absent hides its description. */
const descriptionOf = (name: 'early_stopping' | 'packing') => shape[name].unwrap().unwrap().description

/** Together's `train_on_inputs` is a hyperparameter here, and so are many arguments of other programs. */
export const namesOfMethods = offeredMethods.map((type) => ({
  field: `method.${type}.hyperparameters`,
  names: Object.keys(trainingMethods[type].hyperparameters),
}))

/** transformers also takes a share of all steps. */
const steps = z
  .number()
  .gt(0)
  .max(10_000_000)
  .refine((count) => count < 1 || Number.isInteger(count), 'must be a whole number, or a share of max_steps below 1')
  .nullish()

const SentArgs = z
  .object({
    ...shape,
    save_steps: steps.describe(
      `Steps from one checkpoint to the next, or their share of max_steps. Default ${documentedDefaults.save_steps}`,
    ),
    eval_steps: steps.describe(
      'Steps from one validation on held-out rows to the next, or their share of max_steps; default: ten times a run',
    ),
    lr_scheduler_type: z
      .enum([...schedules, ...otherSchedules])
      .nullish()
      .describe(`How the learning rate changes after the warm-up. Default ${documentedDefaults.lr_scheduler_type}`),
    early_stopping: z
      .union([z.boolean(), EarlyStopping.loose()])
      .nullish()
      .describe(`${descriptionOf('early_stopping')}; true for a patience of 3`),
    packing: z
      .union([z.boolean(), shape.packing])
      .describe(`${descriptionOf('packing')}; true for auto, false for off`),
    load_best_model_at_end: z.boolean().nullish().describe('true is the same as "keep": "best"'),
  })
  .catchall(z.unknown())
type SentArgs = z.output<typeof SentArgs>

/** The arguments, and what to tell about them. */
export type ReadArgs = { args: FinetuneArgs; notes: TrainingNote[] }

/** The `finetune_args` of a request. */
export const SentFinetuneArgs = z.preprocess(withoutOddForms, SentArgs).transform((sent): ReadArgs => {
  const { keep, load_best_model_at_end: loadsBest } = sent
  const [scheduled, stopped] = [scheduleOf(sent), stoppingOf(sent)]
  const [save, validate] = [stepsOf(sent, 'save_steps'), stepsOf(sent, 'eval_steps')]
  const optim = optimizerOf(sent)
  const args = {
    ...FinetuneArgs.parse({
      ...sent,
      lr_scheduler_type: null,
      save_steps: null,
      eval_steps: null,
      early_stopping: null,
      packing: sent.packing === true ? 'auto' : sent.packing === false ? 'off' : sent.packing,
    }),
    ...{ lr_scheduler_type: scheduled.value, save_steps: save.value, eval_steps: validate.value, optim: optim.value },
    keep: keep ?? (loadsBest === true ? ('best' as const) : loadsBest === false ? ('last' as const) : undefined),
    early_stopping: stopped.value,
  }
  const told = [scheduled, save, validate, optim].flatMap(({ note }) => note ?? [])
  if (keep === 'last' && loadsBest) told.push(ignored('load_best_model_at_end has no effect, because keep is "last".'))
  const named = notesOnNames('finetune_args', sent, Object.keys(SentArgs.shape), namesOfMethods)
  return { args, notes: [...told, ...named, ...stopped.notes] }
})

const ofAdapter = ['r_value', 'lora_alpha', 'lora_dropout', 'target_modules', 'use_rslora'] as const

/** `peft_args`, as clients before 3.0 send them. `finetune_args` of the same request win. */
export const SentPeftArgs = z.looseObject({}).transform((given): ReadArgs => {
  const { bias, task_type, ...others } = { r_value: given['r'], ...given } as Record<string, unknown>
  const usual = { ...(bias !== 'none' && { bias }), ...(task_type !== 'CAUSAL_LM' && { task_type }) }
  const notes = notesOnNames('peft_args', { ...others, ...usual }, [...ofAdapter, 'r'])
  const args: Record<string, unknown> = {}
  for (const name of ofAdapter) {
    const { success, data } = shape[name].safeParse(others[name])
    if (success) args[name] = data
    else notes.push(ignored(`peft_args.${name} has no effect, because its value cannot be used.`))
  }
  return { args: FinetuneArgs.parse(args), notes }
})

/** YAML reads 3e-5 as a text, so configurations send it as one. transformers writes -1 for no limit of steps. */
function withoutOddForms(sent: unknown): unknown {
  if (typeof sent !== 'object' || sent === null || Array.isArray(sent)) return sent
  const fractions = [
    ...['learning_rate', 'weight_decay', 'max_grad_norm', 'num_train_epochs', 'lora_alpha', 'lora_dropout'],
    'warmup_ratio',
  ]
  const entries = Object.entries(sent).map(([name, value]: [string, unknown]) => {
    if (name === 'max_steps' && value === -1) return [name, null]
    const isNumber =
      typeof value === 'string' && fractions.includes(name) && /^[+-]?\d+(\.\d*)?(e[+-]?\d+)?$/i.test(value)
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(entries)
}

function stoppingOf({ early_stopping: sent }: SentArgs) {
  if (sent === true) return { value: usualStopping, notes: [] }
  if (!sent) return { value: undefined, notes: [] }
  const notes = notesOnNames('finetune_args.early_stopping', sent, Object.keys(EarlyStopping.shape))
  return { value: EarlyStopping.parse(sent), notes }
}

function scheduleOf({ lr_scheduler_type: name }: SentArgs) {
  const value = schedules.find((each) => each === name)
  if (value !== undefined || !name) return { value, note: null }
  const message = `lr_scheduler_type ${name} is not available here, so linear is used.`
  return { value: 'linear' as const, note: { code: 'schedule_replaced', message } }
}

/** The trainer has the same rule for jobs of older releases (training_args.py). */
function optimizerOf({ optim }: SentArgs) {
  if (!optim || ownOptimizers.includes(optim)) return { value: optim, note: null }
  const value = optim.includes('adam') ? 'adamw_torch' : documentedDefaults.optim
  const message = `optim ${optim} is not available here, so ${value} is used.`
  return { value, note: { code: 'optim_replaced', message } }
}

function stepsOf(sent: SentArgs, name: 'save_steps' | 'eval_steps') {
  const value = sent[name]
  if (!value || value >= 1) return { value, note: null }
  const total = sent.num_train_epochs ? null : (sent.max_steps ?? documentedDefaults.max_steps)
  if (total !== null) return { value: Math.ceil(value * total), note: null }
  const message = `${name} ${value} is a share of max_steps, which a run by num_train_epochs does not have, so the default is used.`
  return { value: undefined, note: ignored(message) }
}
