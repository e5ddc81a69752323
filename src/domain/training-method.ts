// The method of a job, and as answers show it.
import { z } from 'zod'
import type { MethodTable } from './method-knobs.ts'
import { isGiven, requireOfMethod, type MethodRequest, type SharedHyperparameters } from './method-request.ts'
import { answersPerPrompt, offeredMethods, trainingMethods, type MethodName } from './method-table.ts'
import type { RewardTask } from './reward-task.ts'
import { invalidInput } from './service-error.ts'
import { defaultLearningRate, type FinetuneArgs, type RecommendedArgs, type TrainingArgs } from './training-args.ts'

const tables: Record<string, MethodTable> = trainingMethods

export type Hyperparameters = Record<string, number | string | boolean>

/** Frozen with the job. Supervised jobs with the default hyperparameters have none. */
export type TrainingMethod = {
  type: MethodName
  hyperparameters: Hyperparameters
  /** The names that the request gave. */
  given: string[]
  /** Of reinforcement. */
  task?: RewardTask
}

/** The hyperparameters of a job's method, also for jobs that have none. */
const hyperparametersOf = ({ method }: { method?: TrainingMethod | null | undefined }): Hyperparameters =>
  method?.hyperparameters ?? defaultsOf('supervised')

/** The name of a job's method, also for jobs that have none. */
export const methodNameOf = ({ method }: { method?: TrainingMethod | null | undefined }): MethodName =>
  method?.type ?? 'supervised'

type OfModel = {
  recommendedArgs: RecommendedArgs
  recommendedOfMethods?: Partial<Record<MethodName, RecommendedArgs>>
}

/** The learning rate of a request that names none. */
const rateOf = (model: OfModel, type: MethodName): number =>
  model.recommendedOfMethods?.[type]?.learning_rate ??
  defaultLearningRate(model) * (tables[type] as MethodTable).rateFactor

type Asked = {
  method?: MethodRequest | null | undefined
  finetuneArgs: FinetuneArgs
}

/**
 * The method of a job, and its training arguments: hyperparameters that every method has stand for arguments.
 * @returns also the defaults of the method, in place of those of the model
 * @throws ServiceError invalid_input for a hyperparameter that is not read, or differs from its argument
 */
export function resolveMethod(
  { method, finetuneArgs }: Asked,
  model: OfModel,
): { method: TrainingMethod | null; finetuneArgs: FinetuneArgs; recommendedArgs: RecommendedArgs } {
  const type = method?.type ?? 'supervised'
  const sent: Record<string, unknown> = method?.[type]?.hyperparameters ?? {}
  requireOfMethod(type, sent)
  const given = Object.fromEntries(Object.entries(sent).filter(([, value]) => isGiven(value))) as Hyperparameters
  const { defaultsByLossType, batchSize } = tables[type] as MethodTable
  const ofModel = model.recommendedOfMethods?.[type] ?? {}
  const rate = { learning_rate: rateOf(model, type) }
  const args = argumentsOf(given, { type, finetuneArgs, learningRate: rate.learning_rate })
  const defaults = defaultsOf(type)
  const lossType = String(given['loss_type'] ?? defaults['loss_type'])
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => name in defaults))
  const hyperparameters = { ...defaults, ...defaultsByLossType[lossType], ...own }
  requireLearning(type, hyperparameters)
  const found = { type, hyperparameters, given: Object.keys(given) }
  // So the hash of such a job is that of earlier releases.
  const isUsual = Object.entries(defaults).every(([name, value]) => hyperparameters[name] === value)
  const ofMethod =
    type === 'supervised'
      ? {}
      : { ...rate, ...(batchSize && { batch_size: batchSize, gradient_accumulation_steps: 1 }) }
  return {
    method: type === 'supervised' && isUsual ? null : found,
    finetuneArgs: args,
    recommendedArgs: { ...ofMethod, ...ofModel },
  }
}

/** @throws ServiceError invalid_input for values that each are allowed, and together learn nothing */
function requireLearning(type: MethodName, hyperparameters: Hyperparameters) {
  const { loss_type: lossType, beta, label_smoothing: smoothing, sft_weight: ofAnswers } = hyperparameters
  const refuse = (name: string, message: string) => {
    throw invalidInput(`method.${type}.hyperparameters.${name}`, message)
  }
  if (lossType === 'robust' && Number(smoothing) >= 0.5)
    refuse('label_smoothing', 'label_smoothing must be below 0.5 with loss_type robust: at 0.5 the labels say nothing.')
  if (lossType === 'ipo' && Number(beta) < 0.001)
    refuse('beta', 'beta must be at least 0.001 with loss_type ipo, which divides by it.')
  // orpo has a supervised part of its own.
  if (beta === 0 && lossType !== 'orpo' && ofAnswers === 0)
    refuse('beta', 'beta must be above 0: at 0 the pairs say nothing. Or send sft_weight, to learn the chosen answers.')
}

/** Of the hyperparameters that are no arguments. */
const defaultsOf = (type: MethodName): Hyperparameters =>
  Object.fromEntries(
    Object.entries((tables[type] as MethodTable).hyperparameters).flatMap(([name, knob]) =>
      'argument' in knob ? [] : [[name, knob.default]],
    ),
  )

function argumentsOf(
  sent: SharedHyperparameters & { eval_interval?: unknown },
  { type, finetuneArgs, learningRate }: { type: MethodName; finetuneArgs: FinetuneArgs; learningRate: number },
): FinetuneArgs {
  const { n_epochs: epochs, batch_size: rows, learning_rate_multiplier: multiplier, eval_interval: interval } = sent
  const at = (name: string) => `method.${type}.hyperparameters.${name}`
  const { num_train_epochs, learning_rate, batch_size, gradient_accumulation_steps, eval_steps } = finetuneArgs
  const asked: FinetuneArgs = {}
  if (typeof epochs === 'number') asked.num_train_epochs = agreed(epochs, num_train_epochs, at('n_epochs'))
  if (typeof multiplier === 'number')
    asked.learning_rate = agreedRate(Math.min(multiplier * learningRate, 10), learning_rate, at(rateMultiplier))
  if (typeof rows === 'number') {
    const isGiven = (batch_size ?? gradient_accumulation_steps ?? null) !== null
    agreed(rows, isGiven ? (batch_size ?? 1) * (gradient_accumulation_steps ?? 1) : null, at('batch_size'))
    if (!isGiven) Object.assign(asked, { batch_size: rows, gradient_accumulation_steps: 1 })
  }
  if (typeof interval === 'number') asked.eval_steps = agreed(interval, eval_steps, at('eval_interval'))
  return { ...finetuneArgs, ...asked }
}

const rateMultiplier = 'learning_rate_multiplier'

/** A product such as 3 times 0.0002 is rounded. @throws ServiceError invalid_input */
function agreedRate(value: number, argument: number | null | undefined, path: string): number {
  if (argument !== null && argument !== undefined && rounded(argument) !== rounded(value))
    throw invalidInput(
      path,
      `${rateMultiplier} makes the learning rate ${rounded(value)}, and finetune_args.learning_rate is ${argument}. Send one of them.`,
    )
  return argument ?? value
}

/** @throws ServiceError invalid_input */
function agreed(value: number, argument: number | null | undefined, path: string): number {
  if (argument !== null && argument !== undefined && argument !== value)
    throw invalidInput(path, `${path} is ${value}, and finetune_args says ${argument}. Send one of them.`)
  return value
}

// An enum: generated Python clients cannot read a constant beside another type.
const resolved = z.union([z.enum(['auto']), z.number()])

/** The hyperparameters of a job that every method has. */
export const ResolvedHyperparameters = z.object({
  n_epochs: resolved.describe('Passes over the training rows'),
  batch_size: resolved.describe('Rows of one optimizer step'),
  learning_rate_multiplier: resolved.describe('Multiplies the default learning rate of the model and the method'),
})
const ofMethod = z.union([z.number(), z.string(), z.boolean()])
const shownObject = z.object({
  hyperparameters: ResolvedHyperparameters.catchall(ofMethod).describe('The arguments of the training'),
})
const onlyOfMethod = 'The arguments of the method; absent for other methods'
const shownArguments = shownObject.optional().describe(onlyOfMethod)
const sentObject = z.record(z.string(), z.unknown())

/** The method of a job, in OpenAI's shape. */
export const ShownMethod = z.object({
  type: z.enum(offeredMethods).describe('The method of training'),
  supervised: shownArguments,
  dpo: shownArguments,
  kto: shownArguments,
  reinforcement: shownObject
    .extend({
      grader: sentObject
        .optional()
        .describe(
          'As the request named it; a model that judges is the one that its name meant then. Lists may leave it out',
        ),
      response_format: sentObject.optional().describe('The form of structured answers, as the request named it'),
    })
    .optional()
    .describe(onlyOfMethod),
})
export type ShownMethod = z.output<typeof ShownMethod>

const rounded = (value: number) => Number(value.toPrecision(12))

type OfJob = { method?: TrainingMethod | null | undefined; args: TrainingArgs }

/** The arguments of a job as the hyperparameters that every method has. @param model undefined once it has left the catalogue */
export function resolvedHyperparameters(
  { method, args }: OfJob,
  model: OfModel | undefined,
): z.output<typeof ResolvedHyperparameters> {
  return {
    n_epochs: args.num_train_epochs ?? 'auto',
    batch_size: args.batch_size * args.gradient_accumulation_steps,
    learning_rate_multiplier: model ? rounded(args.learning_rate / rateOf(model, methodNameOf({ method }))) : 'auto',
  }
}

/** With every hyperparameter that a trainer reads. */
export function methodForTrainer({ type, hyperparameters }: TrainingMethod) {
  const { hyperparameters: knobs } = tables[type] as MethodTable
  const read = Object.fromEntries(Object.entries(hyperparameters).filter(([name]) => !knobs[name]?.isForService))
  if (type === 'reinforcement') read['samples_per_prompt'] = samplesPerPrompt(hyperparameters)
  return { type, [type]: { hyperparameters: read } }
}

/** Answers to a prompt of a step. */
export function samplesPerPrompt({ samples_per_prompt: asked, compute_multiplier: times }: Hyperparameters): number {
  const { least, most } = answersPerPrompt
  return Math.min(most, Math.max(least, Math.round(Number(asked) * Number(times))))
}

export function shownMethod(job: OfJob, model: OfModel | undefined): ShownMethod {
  const type = methodNameOf(job)
  const ofArguments = type === 'reinforcement' && { eval_interval: job.args.eval_steps ?? 'auto' }
  const hyperparameters = { ...resolvedHyperparameters(job, model), ...ofArguments, ...hyperparametersOf(job) }
  const { grammar: _grammar, ...task } = job.method?.task ?? {}
  return { type, [type]: { ...task, hyperparameters } }
}

/** The names of hyperparameters that the request of a job did not give, and that are no arguments. */
export const defaultedHyperparameters = (method: TrainingMethod | null | undefined): string[] =>
  Object.keys(hyperparametersOf({ method })).filter((name) => !method?.given.includes(name))
