// The `method` of a request, in OpenAI's shape.
import { z } from 'zod'
import type { Knob, MethodTable } from './method-knobs.ts'
import { offeredMethods, trainingMethods, type MethodName } from './method-table.ts'
import { rewardFields } from './reward-task.ts'
import { invalidInput } from './service-error.ts'
import { withoutPrototype } from './without-prototype.ts'

const tables: Record<string, MethodTable> = trainingMethods

const orAuto = <T extends z.ZodType>(schema: T, what: string) =>
  z.union([z.literal('auto'), schema], { error: `must be "auto" or ${what}` }).nullish()

/** Null and auto stand for the default. */
export const isGiven = (value: unknown) => value !== 'auto' && (value ?? null) !== null

/** A smaller one would round the learning rate to 0. */
const leastMultiplier = 1e-12
const multiplierRange = `a number from ${leastMultiplier} to 1000`

/** The hyperparameters that every method has, as OpenAI names them. */
export const sharedHyperparameters = {
  n_epochs: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000').describe(
    'Passes over the training rows',
  ),
  batch_size: orAuto(z.int().min(1).max(100_000), 'a whole number from 1 to 100000').describe(
    'Rows of one optimizer step',
  ),
  learning_rate_multiplier: orAuto(
    z.number().min(leastMultiplier, `must be "auto" or ${multiplierRange}`).max(1000),
    multiplierRange,
  ).describe('Multiplies the default learning rate of the model'),
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
  const { minimum, maximum } = knob
  const isWhole = 'argument' in knob || knob.isWhole
  const range = `a ${isWhole ? 'whole number' : 'number'} from ${minimum} to ${maximum}`
  const error = `must be "auto" or ${range}`
  const number = isWhole ? z.int({ error }) : z.number({ error })
  return orAuto(number.min(minimum, error).max(maximum, error), range).describe(description)
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
    if (problem !== null) throw invalidInput(`method.${type}.hyperparameters.${name}`, `${name} ${problem}.`)
  }
}

const listed = new Intl.ListFormat('en-GB')

function notOfMethod(knob: string, name: string) {
  const owners = offeredMethods.filter((each) => Object.hasOwn((tables[each] as MethodTable).hyperparameters, knob))
  return owners.length > 0
    ? `is a hyperparameter of ${listed.format(owners)}, not of ${name}`
    : `is not a hyperparameter of ${name}`
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
