import { z } from 'zod'
import { parseStatus, trainingJobStatuses } from '../../../domain/training-job-status.ts'
import { jobNotFound } from '../../../services/training-jobs/get.ts'
import { shortened } from '../../kit/problem.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { JobScores, RowScores, UsedGrader } from './scores.ts'
import { isMetadataFilter } from './metadata.ts'

export const maxJobId = 2 ** 31 - 1
export const Time = z.string().describe('UTC, without a zone: 2026-11-20T10:00:00.123456')
export const Status = z.enum(trainingJobStatuses)

/** Text that is no id gets the same 404 as an unknown id. */
export const JobPath = z.object({
  job_id: z
    .string()
    .transform((text) => {
      const id = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : 0
      if (id === 0 || id > maxJobId) throw jobNotFound(shortened(text))
      return id
    })
    .meta({ type: 'integer', minimum: 1, maximum: maxJobId })
    .describe('The id of the job'),
})

/** Besides the named parameters it takes `metadata[key]=value`, any number of times. */
export const JobListQuery = z
  .looseObject({
    limit: queryInt({ min: 1, max: 1000 }).optional().describe('Number of jobs; all when absent'),
    after: queryText().optional().describe('The cursor from the Link header of the previous page'),
    status: queryText()
      .transform((text, ctx) => {
        const status = parseStatus(text)
        if (!status) ctx.addIssue(`must be one of ${trainingJobStatuses.join(', ')}`)
        return status ?? 'CREATED'
      })
      .optional()
      .describe('Only jobs in this state'),
  })
  .superRefine((query, ctx) => {
    for (const [name, value] of Object.entries(query)) {
      const message = name.startsWith('metadata') ? metadataProblem(name, value) : unknownProblem(name)
      if (message !== null) ctx.addIssue({ code: 'custom', path: [shortened(name)], message })
    }
  })

const metadataProblem = (name: string, value: unknown) =>
  isMetadataFilter(name) && typeof value === 'string' && !value.includes('\0')
    ? null
    : 'must be metadata[key]=value, each key once, without NUL characters'

const filters = ['limit', 'after', 'status']
const unknownProblem = (name: string) =>
  filters.includes(name) ? null : `is not a known parameter: the list takes ${filters.join(', ')} and metadata[key]`

export const JobCancelled = named(
  'TrainingJobCancelled',
  z.object({
    message: z.string().describe('A sentence that says what was done'),
    status: z
      .literal('CANCELLED')
      .describe('Always CANCELLED. The job reads CANCELLED once all its processes have ended'),
  }),
)

export const JobResumed = named(
  'TrainingJobResumed',
  z.object({
    status: Status.describe('The state from which the job goes on'),
    job_id: z.int().describe('The id of the job'),
  }),
)

const Split = z.enum(['held_out', 'train']).describe('held_out: rows that were not trained on; train: rows that were')

export const Evaluation = named(
  'Evaluation',
  z.object({
    job_id: z.int().describe('The id of the job'),
    eval_results: z
      .array(
        z.object({
          input: z.string().describe('The prompt'),
          outputs: z
            .array(
              z.object({
                model_name: z.string().describe('The model that answered'),
                output: z.string().describe('The answer'),
                scores: RowScores.nullable().describe('Scores by grader; null when nothing was scored'),
              }),
            )
            .describe('The tuned model, then its base'),
          expected: z.string().describe('The expected output'),
          split: Split,
        }),
      )
      .describe('One entry for each row of the evaluation'),
    graders: z.array(UsedGrader).nullable().describe('The graders with their parameters; null when nothing was scored'),
    summary: JobScores.describe(
      'By grader; null where no row has a score, and when scoring took too much time or memory',
    ),
  }),
)

export const OpenJobsCancelled = named(
  'OpenTrainingJobsCancelled',
  z.object({
    message: z.string().describe('A sentence that says what was done'),
    cancelled: z.int().describe('Number of jobs that this request cancels'),
  }),
)
