import { z } from 'zod'
import { batchStatuses, type BatchStatus } from '../../../domain/inference-batch.ts'
import { isUuid } from '../../../domain/identifiers.ts'
import { batchNotFound } from '../../../services/batches/get-batch-result.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { shortened } from '../../kit/problem.ts'
import { Time } from '../../lamini/schemas/training-job.ts'
import { uuidIn } from '../../openai/ids.ts'

/** The UUID in an id as the batch's own routes write it; null for any other text. */
const batchUuid = (text: string) => (isUuid(text) ? text : uuidIn('batch', text))

/** Text that is no id gets the same 404 as an unknown id. */
export const BatchPath = z.object({
  id: z
    .string()
    .transform((text) => {
      const id = batchUuid(text)
      if (id === null) throw batchNotFound(shortened(text))
      return id
    })
    .meta({ description: 'The id of the batch' }),
})

const open: readonly BatchStatus[] = ['QUEUED', 'RUNNING']
const isStatus = (word: string): word is BatchStatus => batchStatuses.some((status) => status === word)
const statusesOf = (word: string): readonly BatchStatus[] => (word === 'open' ? open : isStatus(word) ? [word] : [])

const Statuses = queryText()
  .refine(
    (text) => text.split(',').every((word) => statusesOf(word).length > 0),
    `must be a comma-separated list of ${batchStatuses.join(', ')}, or of the word open`,
  )
  .transform((text) => text.split(',').flatMap(statusesOf))
  .meta({ type: 'string' })

const Cursor = queryText()
  .transform((text, ctx) => {
    const id = batchUuid(text)
    if (id === null) ctx.addIssue('must be the `next` of an earlier page')
    return id ?? ''
  })
  .meta({ type: 'string' })

export const BatchListQuery = z.strictObject({
  limit: queryInt({ min: 1, max: 100 }).optional().describe('Batches of a page, default 20'),
  after: Cursor.optional().describe('`next` of the previous page'),
  status: Statuses.optional().describe(
    'Only batches in these states: a comma-separated list; `open` is all that have not ended',
  ),
})

export const Batch = named(
  'Batch',
  z.object({
    id: z.string().describe('The id of the batch, as the answer to its creation has it'),
    kind: z
      .enum(['completions', 'streaming', 'embeddings', 'requests'])
      .describe('Whose answers it has: prompts, prompts with partial texts, texts to embed, or the lines of a file'),
    status: z.enum(batchStatuses).describe('QUEUED and RUNNING batches are open; the other states are final'),
    status_reason: z
      .string()
      .nullable()
      .describe('waiting_for_turn or maintenance while the batch is QUEUED; cancelling before its end'),
    status_message: z.string().nullable().describe('Why the batch waits or failed'),
    model_name: z.string().nullable().describe('The model that answers; null where each line names one'),
    display_name: z.string().nullable().describe('The name of the model for people; null once it is deleted'),
    item_counts: z
      .object({
        total: z.int().describe('The prompts, texts or lines of the batch'),
        completed: z.int().describe('Those with an answer'),
        failed: z.int().describe('Those that were refused'),
      })
      .describe('How far the batch is'),
    key_id: z.string().describe('The key that made the batch'),
    key_name: z.string().nullable().describe('The name of that key; null once it is deleted'),
    created_at: Time.describe('The time of acceptance'),
    started_at: Time.nullable().describe('When its first items were sent to a model; null before'),
    finished_at: Time.nullable().describe('When the batch ended; null while it is open'),
    links: z
      .object({
        result: z.string().nullable().describe('The answers, where some can be read'),
        errors: z.string().nullable().describe('The refused lines of a file, once the batch has ended'),
      })
      .describe('Paths of this service'),
  }),
)
export type Batch = z.infer<typeof Batch>

export const BatchList = named(
  'BatchList',
  z.object({
    batches: z.array(Batch).describe('The batches of the page, newest first'),
    next: z
      .string()
      .nullable()
      .describe('The `after` of the next page; null on the last. A page may have few batches and a next one'),
  }),
)
