import { z } from 'zod'
import { rolloutSplits } from '../../../domain/rollouts.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'

const mostGroups = 100
export const defaultGroups = 20
const count = { min: 0, max: 2 ** 31 - 1 }

export const RolloutQuery = z.strictObject({
  step: queryInt(count).optional().describe('The step; the newest one with samples when absent'),
  row: queryInt(count).optional().describe('Only groups of this row of the training or held-out data, from 0'),
  split: queryText()
    .pipe(z.enum(rolloutSplits))
    .optional()
    .describe('train, the default: the answers that a step learns from. held_out: those of the validation after it'),
  after: queryInt(count).optional().describe('The `next` of the page before'),
  limit: queryInt({ min: 1, max: mostGroups }).optional().describe(`Groups of a page. Default ${defaultGroups}`),
})

const Sample = z.object({
  index: z.int().describe('The place of the answer among those to its prompt'),
  text: z.string().describe('The answer'),
  tool_calls: z.array(z.unknown()).optional().describe('The functions that the answer calls; absent without any'),
  tokens: z.int().describe('Tokens of the answer'),
  finish_reason: z.string().describe('stop, tool_calls, or length where the answer was cut off'),
  reward: z.number().nullable().describe('Null while the answer is not graded, and for one without a score'),
  grades: z.record(z.string(), z.number().nullable()).describe('The score by each grader'),
  error: z
    .object({
      grader: z.string().describe('The grader'),
      kind: z.string().describe('The kind of error, by its name at OpenAI'),
      message: z.string().describe('The error as a sentence'),
    })
    .nullable()
    .describe('Why the answer has no score'),
  advantage: z
    .number()
    .nullable()
    .describe('How much better the answer is than the others of its group; null while it is not graded'),
})

export const RolloutPage = named(
  'TrainingRollouts',
  z.object({
    step: z.int().describe('The step'),
    policy_step: z.int().describe('The updates that the sampling model had learned from'),
    groups: z
      .array(
        z.object({
          row: z.int().describe('The row of the prompt among those that the job read, from 0'),
          dataset_id: z
            .string()
            .nullable()
            .describe('The data set of the prompt; null for rows that were sent to be evaluated'),
          line: z
            .int()
            .nullable()
            .describe('Its line in the file of the data set, from 1; null once that is not known'),
          prompt: z.unknown().describe('A text, or a list of messages'),
          item: z.record(z.string(), z.unknown()).describe('The fields of the row beside its prompt'),
          samples: z.array(Sample).describe('The answers to the prompt'),
        }),
      )
      .describe('The prompts of the page'),
    next: z.int().nullable().describe('The `after` of the next page; null on the last'),
  }),
)
