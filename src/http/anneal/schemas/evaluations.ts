import { z } from 'zod'
import { Graders } from '../../../domain/grader.ts'
import { evaluationDefaults, evaluationLimits, evaluationStatuses } from '../../../domain/model-evaluation.ts'
import { workNotFound } from '../../../services/durable-work/find.ts'
import { keepsEmpty } from '../../kit/empty-fields.ts'
import { named } from '../../kit/named-schemas.ts'
import { queryInt, queryText } from '../../kit/params.ts'
import { shortened } from '../../kit/problem.ts'
import { Comparison, GraderSummary, RowScores, UsedGrader } from '../../lamini/schemas/scores.ts'
import { Time } from '../../lamini/schemas/training-job.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Text that is no id gets the same 404 as an unknown id. */
export const EvaluationPath = z.object({
  id: z
    .string()
    .transform((text) => {
      if (!uuid.test(text)) throw workNotFound({ kind: 'evaluation', id: shortened(text) })
      return text
    })
    .meta({ format: 'uuid', description: 'The id in the answer of the POST' }),
})

const count = (most: number) => z.int().min(1).max(most)

export const EvaluationRequest = named(
  'EvaluationRequest',
  z.object({
    models: z
      .array(z.string().min(1).max(256))
      .min(1)
      .max(evaluationLimits.models)
      .describe('Base or tuned models. The others are compared with the first'),
    dataset_id: z
      .string()
      .describe(
        'A data set with an input and an expected output in each row, or with conversations, whose last answer is expected after the turns before it',
      ),
    as_chat: z
      .boolean()
      .nullish()
      .describe(
        'true: rows without messages are asked as chats; false: as plain prompts. Absent: each model is asked in the form that it learned, and a base model as the first model beside it that was tuned from it. Conversations are always asked as chats, and the other rows beside them too',
      ),
    system: keepsEmpty(
      z
        .string()
        .nullish()
        .describe(
          'The system message of chats that have none of their own. Absent: rows without messages get the one that the model learned (system_message of GET /v1/models); "": none',
        ),
    ),
    graders: Graders.nullish().describe('How answers are scored; chosen by the expected outputs when absent'),
    skip_bad_rows: z
      .boolean()
      .nullish()
      .describe(
        'true leaves out the rows that cannot be evaluated: bad rows, rows of text without an input, and conversations that end in a call of a function. Such a row fails the evaluation when absent',
      ),
    max_rows: count(evaluationLimits.rows)
      .nullish()
      .describe(`The most rows that are answered, default ${evaluationDefaults.rows}. A larger data set is sampled`),
    max_tokens: count(evaluationLimits.tokens)
      .nullish()
      .describe(`The most tokens of an answer, default ${evaluationDefaults.tokens}`),
  }),
)

const EvaluationStatus = z.enum(evaluationStatuses)
export const EvaluationAccepted = named(
  'EvaluationAccepted',
  z.object({ id: z.string().describe('The id of the evaluation'), status: EvaluationStatus.describe('QUEUED') }),
)
export const EvaluationCancelled = named(
  'EvaluationCancelled',
  z.object({
    id: z.string().describe('The id of the evaluation'),
    status: z.literal('CANCELLED').describe('Always CANCELLED: its results so far are kept'),
  }),
)

export const ModelEvaluation = named(
  'ModelEvaluation',
  z.object({
    id: z.string().describe('The id of the evaluation'),
    status: EvaluationStatus.describe('QUEUED and RUNNING evaluations are open; the other states are final'),
    status_reason: z
      .string()
      .nullable()
      .describe('Why a QUEUED evaluation waits: waiting_for_turn, or maintenance; null otherwise'),
    message: z.string().nullable().describe('Why the evaluation waits or failed'),
    models: z.array(z.string()).describe('As the request names them'),
    model_names: z.array(z.string()).describe('The models that these names meant when the evaluation was accepted'),
    dataset_id: z.string().describe('The data set whose rows are answered'),
    graders: z.array(UsedGrader).nullable().describe('Null until they are chosen'),
    max_rows: z.int().describe('The most rows that are answered'),
    max_tokens: z.int().describe('The most tokens of an answer'),
    as_chat: z
      .boolean()
      .nullable()
      .describe('As the request says; null: each model is asked in the form that it learned'),
    system: z.string().nullable().describe('As the request says; null: the system message that the model learned'),
    forms: z
      .record(z.string(), z.enum(['chat', 'prompt']))
      .nullable()
      .describe('How each model is asked, by its name in the request; null until the rows are chosen'),
    rows: z.int().nullable().describe('The rows that each model answers; null until they are chosen'),
    skipped_rows: z
      .int()
      .nullish()
      .describe('Rows that are left out; null until the rows are chosen, and absent without skip_bad_rows'),
    warnings: z
      .array(z.string())
      .optional()
      .describe('Says why rows are left out. Absent when all rows can be evaluated'),
    summary: z
      .record(z.string(), z.record(z.string(), GraderSummary.nullable()))
      .nullable()
      .describe('By model, then by grader; null until the evaluation is COMPLETED'),
    comparison: z
      .record(z.string(), z.record(z.string(), Comparison.nullable()))
      .nullable()
      .describe('Each other model beside the first, by model, then by grader'),
    created_at: Time,
    finished_at: Time.nullable().describe('When the evaluation ended; null while it is open'),
  }),
)
export type ModelEvaluation = z.infer<typeof ModelEvaluation>

export const EvaluationListQuery = z.strictObject({
  after: queryText().optional().describe('`next` of the previous page'),
  limit: queryInt({ min: 1, max: 20 }).optional().describe('Evaluations of a page, default 20'),
})
export const EvaluationList = named(
  'EvaluationList',
  z.object({
    evaluations: z.array(ModelEvaluation).describe('Newest first'),
    next: z.string().nullable().describe('The `after` of the next page; null on the last'),
  }),
)

export const EvaluationRowsQuery = z.strictObject({
  offset: queryInt({ min: 0, max: 1_000_000 }).optional().describe('The first row, default 0'),
  limit: queryInt({ min: 1, max: 128 }).optional().describe('Rows of a page, default 50'),
})

export const EvaluationRows = named(
  'EvaluationRows',
  z.object({
    rows: z
      .array(
        z.object({
          index: z.int().describe('The position among the chosen rows, from 0'),
          input: z
            .string()
            .describe('The prompt; for a conversation, the text of the turns before the expected answer'),
          expected: z.string().describe('The expected output'),
          outputs: z
            .array(
              z.object({
                model: z.string().describe('The model, as the request names it'),
                output: z.string().nullable().describe('The answer; null when the model refused the row'),
                error: z.string().nullable().describe('Why the model refused the row'),
                scores: RowScores,
              }),
            )
            .describe('In the order of the models. A model that is not scored yet is missing'),
        }),
      )
      .describe('The rows of the page'),
    next: z.int().nullable().describe('The `offset` of the next page; null on the last'),
  }),
)
