// Scores and their figures, in evaluations of jobs and of models.
import { z } from 'zod'
import { graderName, type Grader } from '../../../domain/grader.ts'
import { named } from '../../kit/named-schemas.ts'

const interval = {
  mean: z.number().describe('The mean of the scores of all rows'),
  low: z.number().describe('Lower end of the 95 % bootstrap interval'),
  high: z.number().describe('Upper end of the 95 % bootstrap interval'),
}
export const GraderSummary = named(
  'GraderSummary',
  z.object({ ...interval, rows: z.int().describe('The rows that have a score') }),
)
export const Comparison = named(
  'ScoreComparison',
  z.object({
    difference: z.object(interval).describe('Mean of the differences, row by row'),
    better: z.int().describe('Rows with a higher score'),
    equal: z.int().describe('Rows with the same score'),
    worse: z.int().describe('Rows with a lower score'),
  }),
)

const TunedBesideBase = named(
  'TunedBesideBase',
  z.object({
    tuned: GraderSummary.describe('Scores of the tuned model'),
    base: GraderSummary.describe('Scores of its base model'),
    ...Comparison.shape,
  }),
)

/** Figures of a job's evaluation. */
export const JobScores = z.record(z.string(), TunedBesideBase.nullable()).nullable()

/** The parameters of a grader that is in use, without those that were left out. */
export const UsedGrader = z
  .object({ type: z.string().describe('The type of the grader'), name: z.string().describe('The key of its scores') })
  .catchall(z.unknown())

export const usedGrader = (grader: Grader): z.infer<typeof UsedGrader> => ({
  ...grader,
  name: graderName(grader),
})

export const RowScores = z
  .record(z.string(), z.number().nullable())
  .describe('By grader, from 0 to 1; null where the grader cannot score the row')
