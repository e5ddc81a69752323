import { z } from 'zod'
import { rolloutSplits } from '../../domain/rollouts.ts'

const maxSamples = 256
const place = { row: z.int32().min(0), index: z.int32().min(0) }

export const GradeRequest = z.object({
  step: z.int32().min(0),
  split: z.enum(rolloutSplits),
  samples: z
    .array(
      z.object({
        ...place,
        text: z.string().max(1_000_000).describe('The answer, as {{sample.output_text}} names it'),
        tool_calls: z.array(z.unknown()).max(128).nullish(),
        finish_reason: z.string().max(64),
        tokens: z.int().min(0),
        item: z.record(z.string(), z.unknown()).describe('The fields of the row beside its prompt'),
      }),
    )
    .min(1)
    .max(maxSamples),
})

export const GradeAnswer = z.object({
  graded: z.array(
    z.object({
      ...place,
      reward: z.number().nullable().describe('Null: not scored'),
      grades: z.record(z.string(), z.number().nullable()).describe('The score by each grader; null: not scored'),
      error: z
        .object({ grader: z.string(), kind: z.string(), message: z.string() })
        .nullable()
        .describe('Why there is no reward'),
    }),
  ),
  waiting: z.array(z.object(place)).describe('Samples without a grade yet: ask again'),
  waiting_for: z.string().nullable().describe('A sentence about what they wait for; null without any'),
})
