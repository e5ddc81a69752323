import { z } from 'zod'
import { named } from '../edge/named-schemas.ts'
import { Completion } from './completions.ts'

export const BatchAnswer = named('BatchAnswer', z.object({ id: z.string() }))

export const BatchParams = z.object({ id: z.uuid().describe('As the POST answered it') })

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
