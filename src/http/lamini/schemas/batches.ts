import { z } from 'zod'
import { batchNotFound } from '../../../services/batches/get-batch-result.ts'
import { named } from '../../kit/named-schemas.ts'
import { shortened } from '../../kit/problem.ts'
import { Completion } from './completions.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export const BatchAnswer = named(
  'BatchAnswer',
  z.object({ id: z.string().describe('The id to ask for the result with') }),
)

/** Text that is no id gets the same 404 as an unknown id. */
export const BatchParams = z.object({
  id: z
    .string()
    .transform((text) => {
      if (!uuid.test(text)) throw batchNotFound(shortened(text))
      return text
    })
    .meta({ format: 'uuid', description: 'The id in the answer of the POST' }),
})

// A generator of Python makes nothing of an object in a union that has objects of its own, unless it has a name.
const RefusedItem = named(
  'RefusedBatchItem',
  z.object({
    path: z.string().describe('The place of the prompt, such as "prompt[3]"'),
    message: z.string().describe('Why the prompt was refused'),
  }),
)

const errors = z.array(RefusedItem).describe('The prompts that were refused, in order. Absent when none was').optional()

const NotStarted = z.object({}).strict().describe('Nothing is finished yet')

export const CompletionBatchResult = named(
  'CompletionBatchResult',
  z.union([
    NotStarted,
    named(
      'CompletionBatchOutputs',
      z.object({
        outputs: z.array(Completion.nullable()).describe('In the order of the prompts'),
        finish_reason: z
          .array(z.string().nullable())
          .describe('Null for prompts that are not finished, "error" for those that were refused'),
        errors,
      }),
    ),
  ]),
)

export const EmbeddingBatchResult = named(
  'EmbeddingBatchResult',
  z.union([
    NotStarted,
    named(
      'EmbeddingBatchVectors',
      z.object({
        embedding: z
          .array(z.array(z.number()).nullable())
          .describe('In the order of the texts; null for those that were refused'),
        errors,
      }),
    ),
  ]),
)
