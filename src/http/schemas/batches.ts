import { z } from 'zod'
import { batchNotFound } from '../../services/batches/get-batch-result.ts'
import { named } from '../framework/named-schemas.ts'
import { shortened } from '../framework/problem.ts'
import { Completion } from './completions.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const BatchAnswer = named('BatchAnswer', z.object({ id: z.string() }))

/** Anything that is no id is answered like an id that does not exist. */
export const BatchParams = z.object({
  id: z
    .string()
    .transform((text) => {
      if (!uuid.test(text)) throw batchNotFound(shortened(text))
      return text
    })
    .meta({ format: 'uuid', description: 'As the POST answered it' }),
})

const NothingYet = z.object({}).strict().describe('Nothing is done yet')

export const CompletionBatchResult = named(
  'CompletionBatchResult',
  z.union([
    NothingYet,
    z.object({
      outputs: z.array(Completion.nullable()).describe('In the order of the prompts'),
      finish_reason: z.array(z.string().nullable()).describe('Null: not done yet'),
    }),
  ]),
)

export const EmbeddingBatchResult = named(
  'EmbeddingBatchResult',
  z.union([NothingYet, z.object({ embedding: z.array(z.array(z.number())) })]),
)
