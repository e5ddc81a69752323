// The `method` of a request, in OpenAI's shape.
import { z } from 'zod'
import type { Knob, MethodTable } from './method-knobs.ts'
import { offeredMethods, sharedKnobs, trainingMethods, type MethodName } from './method-table.ts'
import { nearName } from './near-name.ts'
import { sameName } from './other-names.ts'
import { rewardFields } from './reward-task.ts'
import { invalidInput } from './service-error.ts'
import { FinetuneArgs } from './training-args.ts'
import { withoutPrototype } from './without-prototype.ts'

const tables: Record<string, MethodTable> = trainingMethods

const orAuto = <T extends z.ZodType>(schema: T, what: string) =>
  z.union([z.literal('auto'), schema], { error: `must be "auto" or ${what}` }).nullish()

/** Null and auto stand for the default. */
export const isGiven = (value: unknown) => value !== 'auto' && (value ?? null) !== null

type Bounds = { minimum: number; maximum: number; isWhole?: boolean; description: string }

function numberSchema({ minimum, maximum, isWhole, description }: Bounds) {
  const range = `a ${isWhole ? 'whole number' : 'number'} from ${minimum} to ${maximum}`
  const error = `must be "auto" or ${range}`
  const number: z.ZodNumber = isWhole ? z.int({ error }) : z.number({ error })
  return orAuto(number.min(minimum, error).max(maximum, error), range).describe(description)
}

/** The hyperparameters that every method has, as OpenAI names them. */
export const sharedHyperparameters = {
  n_epochs: numberSchema(sharedKnobs.n_epochs),
  batch_size: numberSchema(sharedKnobs.batch_size),
  learning_rate_multiplier: numberSchema(sharedKnobs.learning_rate_multiplier),
}
export type SharedHyperparameters = z.output<z.ZodObject<typeof sharedHyperparameters>>

function knobSchema(knob: Knob): z.ZodType {
  const { description } = knob
  if ('choices' in knob) {
    const { choices, otherwise } = knob
    const range = otherwise === undefined ? `one of ${choices.join(', ')}` : `${choices.join(', ')}: ${otherwise}`
    return orAuto(z.enum(choices), range).describe(description)
  }
  if (!('minimum' in knob)) return orAuto(z.boolean(), 'true or false').describe(description)
  return numberSchema({ ...knob, isWhole: 'argument' in knob || (knob.isWhole ?? false) })
}

function methodSchema<F extends z.ZodRawShape>(name: MethodName, fields: F) {
  const knobs = Object.entries((tables[name] as MethodTable).hyperparameters)
  const known = {
    ...sharedHyperparameters,
    ...Object.fromEntries(knobs.map(([knob, each]) => [knob, knobSchema(each)])),
  }
  const hyperparameters = withoutPrototype(z.object(known).catchall(z.unknown()))
  return z
    .strictObject({
      ...fields,
      hyperparameters: hyperparameters.nullish().describe('Absent ones, and "auto", have the defaults'),
    })
    .nullish()
    .describe(`The arguments of the method ${name}`)
}

/** @throws ServiceError invalid_input for a hyperparameter that the method, or its loss, does not read */
export function requireOfMethod(type: MethodName, sent: Readonly<Record<string, unknown>>): void {
  const { hyperparameters } = tables[type] as MethodTable
  for (const name of Object.keys(sent)) {
    const isKnown = Object.hasOwn(hyperparameters, name) || Object.hasOwn(sharedHyperparameters, name)
    const problem = isKnown ? unreadProblem(name, type, sent) : notOfMethod(name, type)
    if (problem !== null)
      throw invalidInput(
        `method.${type}.hyperparameters.${name}`,
        `${name} ${problem}${problem.endsWith('?') ? '' : '.'}`,
      )
  }
}

const argumentNames = Object.keys(FinetuneArgs.shape)
const listed = new Intl.ListFormat('en-GB')

/** Names of other programs whose values differ from ours. `name`: a hyperparameter of the methods that are meant. */
const otherWays: Readonly<Record<string, { name: string; says: string }>> = {
  train_on_inputs: { name: 'train_on', says: 'true is train_on "everything"' },
  reference_free: { name: 'reference', says: 'true is reference "none"' },
  importance_sampling_level: { name: 'loss_type', says: '"sequence" is loss_type "gspo"' },
  use_vllm: { name: 'rollouts', says: 'rollouts "server" samples with the model server' },
  reward_weights: { name: 'samples_per_prompt', says: 'The grader multi weighs rewards in its calculate_output' },
}

function notOfMethod(knob: string, name: string) {
  const owners = offeredMethods.filter((each) => Object.hasOwn((tables[each] as MethodTable).hyperparameters, knob))
  const known = [...Object.keys((tables[name] as MethodTable).hyperparameters), ...Object.keys(sharedKnobs)]
  const same = sameName(knob, known)
  if (owners.length > 0)
    return `is a hyperparameter of ${listed.format(owners)}, not of ${name}${same ? `, which calls it ${same}` : ''}`
  const isNot = `is not a hyperparameter of ${name}`
  const way = otherWays[knob]
  if (way && known.includes(way.name)) return `${isNot}. ${way.says}`
  if (same) return `${isNot}, which calls it ${same}`
  const argument = argumentNames.includes(knob) ? knob : sameName(knob, argumentNames)
  if (argument) return `${isNot}. See finetune_args.${argument} of POST /v1/train`
  const near = nearName(knob, known)
  return near ? `${isNot}. Did you mean ${near}?` : `${isNot}. It has ${known.join(', ')}`
}

/** Of a value other than the default, for a loss that does not read the hyperparameter. */
function unreadProblem(name: string, type: MethodName, sent: Readonly<Record<string, unknown>>): string | null {
  const { hyperparameters, defaultsByLossType } = tables[type] as MethodTable
  const lossType = String(isGiven(sent['loss_type']) ? sent['loss_type'] : hyperparameters['loss_type']?.default)
  const readers = Object.hasOwn(hyperparameters, name) ? hyperparameters[name]?.lossTypes : undefined
  if (!readers || readers.includes(lossType) || !isGiven(sent[name])) return null
  const preset = defaultsByLossType[lossType]?.[name] ?? hyperparameters[name]?.default
  return sent[name] === preset ? null : `is read with loss_type ${readers.join(', ')}, not with ${lossType}`
}

/** The `method` of a request, in OpenAI's shape. */
export const MethodRequest = z
  .strictObject({
    type: z
      .enum(offeredMethods, { error: `must be ${offeredMethods.join(', ')}: no other method is offered` })
      .describe('How the model is trained'),
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
