// Evals as OpenAI's API writes them.
import { z } from 'zod'
import type { Eval } from '../../domain/eval-run.ts'
import { keepsEmpty } from '../kit/empty-fields.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { Metadata } from '../lamini/schemas/metadata.ts'
import { EvalCriteria, EvalCriterion } from '../../domain/eval-criteria.ts'
import { seconds } from './generation.ts'
import { idOf } from './ids.ts'

const name = z.string().min(1).max(256)
const schema = z.record(z.string(), z.unknown())

export const EvalRequest = named(
  'OpenAiEvalRequest',
  z.strictObject({
    name: name.nullish().describe('A name for people'),
    data_source_config: z
      .strictObject({
        type: z
          .literal('custom', {
            error: ({ input }) =>
              input === undefined
                ? 'must be "custom"'
                : `${JSON.stringify(input)} is not supported: no logs of chats are kept. Use "custom"`,
          })
          .describe('Always custom'),
        item_schema: schema.describe('A JSON schema that each item of a run has to fit'),
        include_sample_schema: z
          .boolean()
          .nullish()
          .describe('Whether criteria may name parts of {{sample}}. Default false'),
      })
      .describe('What the items of a run are'),
    testing_criteria: EvalCriteria.describe('How each sample is judged'),
    metadata: Metadata.nullish().describe('Up to 16 pairs that the eval keeps'),
  }),
)

export const EvalChange = named(
  'OpenAiEvalChange',
  z.strictObject({
    name: name.nullish().describe('Another name'),
    // Without pairs the eval loses those that it has.
    metadata: keepsEmpty(Metadata.nullish().describe('Other pairs, in place of all that the eval has')),
  }),
)

export const EvalObject = named(
  'OpenAiEval',
  z.object({
    id: z.string().describe('The id of the eval'),
    object: z.literal('eval').describe('Always eval'),
    name: z.string().describe('The name of the eval; empty when the request gave none'),
    created_at: z.int().describe('Time of creation, in seconds since 1970'),
    data_source_config: z
      .object({
        type: z.literal('custom').describe('Always custom'),
        schema: schema.describe('A JSON schema of an item with its sample'),
      })
      .describe('What the items of a run are'),
    testing_criteria: z.array(EvalCriterion).describe('How each sample is judged'),
    metadata: z.record(z.string(), z.string()).nullable().describe('The pairs of the request; null without any'),
  }),
)

export const ListOrder = queryText().pipe(z.enum(['asc', 'desc']))

export const EvalListQuery = z.strictObject({
  after: queryText().optional().describe('The id of the last eval of the previous page'),
  limit: queryInt({ min: 1, max: 100 }).optional().describe('Default 20'),
  order: ListOrder.optional().describe('By time; default asc'),
  order_by: queryText()
    .pipe(z.enum(['created_at', 'updated_at']))
    .optional()
    .describe('The time that sorts; default created_at'),
})

export const EvalDeleted = named(
  'OpenAiEvalDeleted',
  z.object({
    object: z.literal('eval.deleted').describe('Always eval.deleted'),
    deleted: z.boolean().describe('Always true'),
    eval_id: z.string().describe('The id of the eval'),
  }),
)

/** A page of a list, as all lists of OpenAI's API are. */
export const listOf = <T extends z.ZodType>(item: T, what: string) =>
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(item).describe(`The ${what} of the page`),
    first_id: z.string().nullable().describe('The id of the first item; null on an empty page'),
    last_id: z
      .string()
      .nullable()
      .describe('The id of the last item, the `after` of the next page; null on an empty page'),
    has_more: z.boolean().describe('Whether more follow'),
  })

export const EvalList = named('OpenAiEvalList', listOf(EvalObject, 'evals'))

export const evalOf = ({ id, name, createdAt, definition, metadata }: Eval): z.output<typeof EvalObject> => ({
  id: idOf('eval', id),
  object: 'eval',
  name,
  created_at: seconds(createdAt),
  data_source_config: { type: 'custom', schema: wholeSchema(definition) },
  testing_criteria: definition.criteria as EvalCriterion[],
  metadata,
})

const wholeSchema = ({ itemSchema, includesSample }: Eval['definition']) => ({
  type: 'object',
  properties: { item: itemSchema, ...(includesSample && { sample: { type: 'object' } }) },
  required: includesSample ? ['item', 'sample'] : ['item'],
})
