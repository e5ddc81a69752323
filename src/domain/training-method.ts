// The method of a request, of a job, and as answers show it.
import { z } from 'zod'
import type { Knob, MethodTable } from './method-knobs.ts'
import { answersPerPrompt, offeredMethods, trainingMethods, type MethodName } from './method-table.ts'
import { rewardFields, type RewardTask } from './reward-task.ts'
import { invalidInput } from './service-error.ts'
import { defaultLearningRate, type FinetuneArgs, type RecommendedArgs, type TrainingArgs } from './training-args.ts'

const tables: Record<string, MethodTable> = trainingMethods

type Hyperparameters = Record<string, number | string | boolean>

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

const orAuto = <T extends z.ZodType>(schema: T, what: string) =>
  z.union([z.literal('auto'), schema], { error: `must be "auto" or ${what}` }).nullish()

/** The hyperparameters that every method has, as OpenAI names them. */
export const sharedHyperparameters = {
  n_epochs: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000').describe(
    'Passes over the training rows',
  ),
  batch_size: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000').describe(
    'Rows of one optimizer step',
  ),
  learning_rate_multiplier: orAuto(z.number().positive().max(1000), 'a number above 0, at most 1000').describe(
    'Multiplies the default learning rate of the model',
  ),
}
type Shared = z.output<z.ZodObject<typeof sharedHyperparameters>>

function knobSchema(knob: Knob): z.ZodType {
  const { description } = knob
  if ('choices' in knob) {
    const { choices, otherwise } = knob
    const range = otherwise === undefined ? `one of ${choices.join(', ')}` : `${choices.join(', ')}: ${otherwise}`
    return orAuto(z.enum(choices), range).describe(description)
  }
  if (!('minimum' in knob)) return orAuto(z.boolean(), 'true or false').describe(description)
  const { minimum, maximum } = knob
  const isWhole = 'argument' in knob || knob.isWhole
  const range = `a ${isWhole ? 'whole number' : 'number'} from ${minimum} to ${maximum}`
  const error = `must be "auto" or ${range}`
  const number = isWhole ? z.int({ error }) : z.number({ error })
  return orAuto(number.min(minimum, error).max(maximum, error), range).describe(description)
}

function methodSchema<F extends z.ZodRawShape>(name: MethodName, fields: F) {
  const knobs = Object.entries((tables[name] as MethodTable).hyperparameters)
  const known = Object.fromEntries(knobs.map(([knob, described]) => [knob, knobSchema(described)]))
  const hyperparameters = z
    .object({ ...sharedHyperparameters, ...known })
    .catchall(z.unknown())
    .superRefine((sent, context) => {
      for (const key of Object.keys(sent))
        if (!(key in known) && !(key in sharedHyperparameters))
          context.addIssue({ code: 'custom', path: [key], message: notOfMethod(key, name), input: sent })
    })
  return z
    .strictObject({
      ...fields,
      hyperparameters: hyperparameters.nullish().describe('Absent ones, and "auto", have the defaults'),
    })
    .nullish()
    .describe(`The arguments of the method ${name}`)
}

function notOfMethod(knob: string, name: string) {
  const owners = offeredMethods.filter((each) => knob in (tables[each] as MethodTable).hyperparameters)
  return owners.length > 0
    ? `is a hyperparameter of ${owners.join(' and ')}, not of ${name}`
    : `is not a hyperparameter of ${name}`
}

/** The `method` of a request, in OpenAI's shape. */
export const MethodRequest = z
  .strictObject({
    type: z
      .enum(offeredMethods, { error: `must be ${offeredMethods.join(', ')}: no other method is offered` })
      .describe('supervised when absent'),
    supervised: methodSchema('supervised', {}),
    dpo: methodSchema('dpo', {}),
    kto: methodSchema('kto', {}),
    reinforcement: methodSchema('reinforcement', rewardFields),
  })
  .superRefine((sent, context) => {
    for (const name of offeredMethods)
      if (name !== sent.type && sent[name])
        context.addIssue({
          code: 'custom',
          path: [name],
          message: `is not read, because method.type is ${sent.type}`,
          input: sent,
        })
  })
export type MethodRequest = z.output<typeof MethodRequest>

type Asked = {
  method?: MethodRequest | null | undefined
  finetuneArgs: FinetuneArgs
}

/**
 * The method of a job, and its training arguments: hyperparameters that every method has stand for arguments.
 * @param learningRate that of the model
 * @returns also the defaults of the method, in place of those of the model
 * @throws ServiceError invalid_input where a hyperparameter and its argument differ
 */
export function resolveMethod(
  { method, finetuneArgs }: Asked,
  learningRate: number,
): { method: TrainingMethod | null; finetuneArgs: FinetuneArgs; recommendedArgs: RecommendedArgs } {
  const type = method?.type ?? 'supervised'
  const sent: Record<string, unknown> = method?.[type]?.hyperparameters ?? {}
  const given = Object.fromEntries(
    Object.entries(sent).filter(([, value]) => value !== 'auto' && (value ?? null) !== null),
  ) as Record<string, number | string | boolean>
  const { defaultsByLossType, batchSize, rateFactor } = tables[type] as MethodTable
  const ofMethod = { learning_rate: learningRate * rateFactor }
  const args = argumentsOf(given, { type, finetuneArgs, learningRate: ofMethod.learning_rate })
  const defaults = defaultsOf(type)
  const lossType = String(given['loss_type'] ?? defaults['loss_type'])
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => name in defaults))
  const hyperparameters = { ...defaults, ...defaultsByLossType[lossType], ...own }
  if (hyperparameters['loss_type'] === 'robust' && Number(hyperparameters['label_smoothing']) >= 0.5)
    throw invalidInput(
      `method.${type}.hyperparameters.label_smoothing`,
      'label_smoothing must be below 0.5 with loss_type robust: at 0.5 the labels say nothing.',
    )
  const found = { type, hyperparameters, given: Object.keys(given) }
  // So the hash of such a job is that of earlier releases.
  const isUsual = Object.entries(defaults).every(([name, value]) => hyperparameters[name] === value)
  if (type === 'supervised') return { method: isUsual ? null : found, finetuneArgs: args, recommendedArgs: {} }
  return {
    method: found,
    finetuneArgs: args,
    recommendedArgs: { ...ofMethod, ...(batchSize && { batch_size: batchSize, gradient_accumulation_steps: 1 }) },
  }
}

/** Of the hyperparameters that are no arguments. */
const defaultsOf = (type: MethodName): Hyperparameters =>
  Object.fromEntries(
    Object.entries((tables[type] as MethodTable).hyperparameters).flatMap(([name, knob]) =>
      'argument' in knob ? [] : [[name, knob.default]],
    ),
  )

function argumentsOf(
  sent: Shared & { eval_interval?: unknown },
  { type, finetuneArgs, learningRate }: { type: MethodName; finetuneArgs: FinetuneArgs; learningRate: number },
): FinetuneArgs {
  const { n_epochs: epochs, batch_size: rows, learning_rate_multiplier: multiplier, eval_interval: interval } = sent
  const at = (name: string) => `method.${type}.hyperparameters.${name}`
  const { num_train_epochs, learning_rate, batch_size, gradient_accumulation_steps, eval_steps } = finetuneArgs
  const asked: FinetuneArgs = {}
  if (typeof epochs === 'number') asked.num_train_epochs = agreed(epochs, num_train_epochs, at('n_epochs'))
  if (typeof multiplier === 'number')
    asked.learning_rate = agreed(Math.min(multiplier * learningRate, 10), learning_rate, at('learning_rate_multiplier'))
  if (typeof rows === 'number') {
    const isGiven = (batch_size ?? gradient_accumulation_steps ?? null) !== null
    agreed(rows, isGiven ? (batch_size ?? 1) * (gradient_accumulation_steps ?? 1) : null, at('batch_size'))
    if (!isGiven) Object.assign(asked, { batch_size: rows, gradient_accumulation_steps: 1 })
  }
  if (typeof interval === 'number') asked.eval_steps = agreed(interval, eval_steps, at('eval_interval'))
  return { ...finetuneArgs, ...asked }
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
/** Absent if the model has left the catalogue. */
type OfModel = { recommendedArgs: RecommendedArgs } | undefined

/** The arguments of a job as the hyperparameters that every method has. */
export function resolvedHyperparameters(
  { method, args }: OfJob,
  model: OfModel,
): z.output<typeof ResolvedHyperparameters> {
  const { rateFactor } = tables[methodNameOf({ method })] as MethodTable
  return {
    n_epochs: args.num_train_epochs ?? 'auto',
    batch_size: args.batch_size * args.gradient_accumulation_steps,
    learning_rate_multiplier: model ? rounded(args.learning_rate / (defaultLearningRate(model) * rateFactor)) : 'auto',
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

export function shownMethod(job: OfJob, model: OfModel): ShownMethod {
  const type = methodNameOf(job)
  const ofArguments = type === 'reinforcement' && { eval_interval: job.args.eval_steps ?? 'auto' }
  const hyperparameters = { ...resolvedHyperparameters(job, model), ...ofArguments, ...hyperparametersOf(job) }
  const { grammar: _grammar, ...task } = job.method?.task ?? {}
  return { type, [type]: { ...task, hyperparameters } }
}

/** The names of hyperparameters that the request of a job did not give, and that are no arguments. */
export const defaultedHyperparameters = (method: TrainingMethod | null | undefined): string[] =>
  Object.keys(hyperparametersOf({ method })).filter((name) => !method?.given.includes(name))
