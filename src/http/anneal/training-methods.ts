import { z } from 'zod'
import type { Knob, MethodTable } from '../../domain/method-knobs.ts'
import { methodRows } from '../../domain/method-rows.ts'
import { offeredMethods, sharedKnobs, trainingMethods, type MethodName } from '../../domain/method-table.ts'
import { defineRoute } from '../kit/route.ts'
import { named } from '../kit/named-schemas.ts'

const Value = z.union([z.number(), z.string(), z.boolean()])

const TrainingMethods = named(
  'TrainingMethods',
  z.object({
    methods: z
      .array(
        z.object({
          type: z.enum(offeredMethods).describe('The `type` of `method` in POST /v1/train'),
          rows: z
            .array(
              z.object({
                form: z.record(z.string(), z.string()).describe('What each field holds'),
                example: z.record(z.string(), z.unknown()).describe('Such a row'),
              }),
            )
            .describe('Rows that the method takes'),
          takes_rows_of: z
            .array(z.enum(offeredMethods))
            .describe('The methods of data that it may train on, as `method` of GET /v1/data/{dataset_id} names them'),
          hyperparameters: z
            .array(
              z.object({
                name: z.string().describe('The name in `method`'),
                default: Value.describe('The value when the request has none'),
                minimum: z.number().optional().describe('The smallest value; absent for one that is no number'),
                maximum: z.number().optional().describe('The largest value; absent for one that is no number'),
                whole: z.literal(true).optional().describe('Present for whole numbers'),
                choices: z
                  .array(z.string())
                  .readonly()
                  .optional()
                  .describe('The values; absent for one that is no choice'),
                defaults_by_loss_type: z
                  .record(z.string(), Value)
                  .optional()
                  .describe('Other defaults of some losses; absent where there are none'),
                loss_types: z
                  .array(z.string())
                  .readonly()
                  .optional()
                  .describe('The losses that read it: others take its default only. Absent where all read it'),
                openai: z.boolean().describe('Whether OpenAI has this hyperparameter'),
                description: z.string().describe('What it does'),
              }),
            )
            .describe('Those that every method has, and those of this one'),
          series: z.array(z.string()).describe('Figures of a step that only this method has, by their names in TRL'),
        }),
      )
      .describe('The methods of training'),
  }),
)

const methods = offeredMethods.map((type) => {
  const { hyperparameters, defaultsByLossType, takesRowsOf, series } = trainingMethods[type]
  return {
    type,
    rows: methodRows[type],
    takes_rows_of: [...takesRowsOf],
    hyperparameters: Object.entries({ ...sharedOf(type), ...hyperparameters }).map(([name, knob]) => ({
      name,
      ...boundsOf(knob),
      ...otherDefaults(name, defaultsByLossType),
      ...(knob.lossTypes && { loss_types: knob.lossTypes }),
      openai: knob.isOpenAi ?? false,
      description: knob.description,
    })),
    series: [...series],
  }
})

/** With the defaults of the method. KTO compares the rows of a step. */
function sharedOf(type: MethodName): Record<string, Knob> {
  const { batchSize }: MethodTable = trainingMethods[type]
  const ofStep = {
    ...sharedKnobs.batch_size,
    ...(batchSize && { default: batchSize }),
    ...(type === 'kto' && { minimum: 2 }),
  }
  return { ...sharedKnobs, batch_size: ofStep }
}

function boundsOf(knob: Knob) {
  if ('choices' in knob) return { default: knob.default, choices: knob.choices }
  if (!('minimum' in knob)) return { default: knob.default }
  const isWhole = 'argument' in knob || (knob.isWhole ?? false)
  return {
    default: knob.default,
    minimum: knob.minimum,
    maximum: knob.maximum,
    ...(isWhole && { whole: true as const }),
  }
}

function otherDefaults(name: string, byLossType: Record<string, Record<string, number | string>>) {
  const others = Object.entries(byLossType).flatMap(([loss, values]) =>
    values[name] === undefined ? [] : [[loss, values[name]] as const],
  )
  return others.length > 0 ? { defaults_by_loss_type: Object.fromEntries(others) } : {}
}

export const trainingMethodRoutes = [
  defineRoute({
    name: 'list_training_methods',
    method: 'get',
    path: '/v1/train/methods',
    summary: 'List the methods of training with their rows, hyperparameters and series',
    access: 'key',
    scope: 'read',
    response: TrainingMethods,
    handle: () => Promise.resolve({ methods }),
  }),
]
