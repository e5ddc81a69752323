// Runs of evals and their output items, as OpenAI's API writes them.
import { z } from 'zod'
import type { EvaluationStatus } from '../../domain/model-evaluation.ts'
import type { EvalRun } from '../../services/eval-runs/find.ts'
import type { OutputItem } from '../../services/eval-runs/list-items.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { Metadata } from '../lamini/schemas/metadata.ts'
import { DataSource } from './eval-run-source.ts'
import { ListOrder, listOf } from './eval-schemas.ts'
import { seconds } from './generation.ts'
import { idOf } from './ids.ts'

export const EvalRunRequest = named(
  'OpenAiEvalRunRequest',
  z.strictObject({
    name: z.string().min(1).max(256).nullish().describe("A name for people. Default: the eval's"),
    metadata: Metadata.nullish().describe('Up to 16 pairs that the run keeps'),
    data_source: DataSource.describe('The items, and the model that answers them'),
  }),
)

/** OpenAI's words for the states of an evaluation. */
const words = {
  QUEUED: 'queued',
  RUNNING: 'in_progress',
  COMPLETED: 'completed',
  FAILED: 'failed',
  CANCELLED: 'canceled',
} as const satisfies Record<EvaluationStatus, string>
type Word = (typeof words)[EvaluationStatus]
const allWords = Object.values(words)

export const statusesOf = (word: Word): EvaluationStatus[] =>
  (Object.keys(words) as EvaluationStatus[]).filter((status) => words[status] === word)

const ApiError = z.object({
  code: z.string().describe('A machine-readable error code'),
  message: z.string().describe('A sentence that says what is wrong'),
})
const pairs = z.record(z.string(), z.string())
const object = z.record(z.string(), z.unknown())
const tokens = (what: string) => z.int().describe(`Tokens of the ${what}`)

export const EvalRunObject = named(
  'OpenAiEvalRun',
  z.object({
    id: z.string().describe('The id of the run'),
    object: z.literal('eval.run').describe('Always eval.run'),
    eval_id: z.string().describe('The id of the eval'),
    created_at: z.int().describe('Time of acceptance, in seconds since 1970'),
    status: z.enum(allWords).describe('The state. completed, failed and canceled are final'),
    name: z.string().describe('The name of the run'),
    model: z.string().nullable().describe('The model that answers; null when the items bring their samples'),
    metadata: pairs.nullable().describe('The pairs of the request; null without any'),
    data_source: object.describe('As in the request, without the content of its items: see the output items'),
    report_url: z.null().describe('Always null: there is no page of a run'),
    result_counts: z
      .object({
        total: z.int().describe('The items of the run'),
        passed: z.int().describe('Items that pass every criterion'),
        failed: z.int().describe('Items that fail a criterion'),
        errored: z.int().describe('Items without an answer, or that a criterion could not judge'),
      })
      .describe('The outcomes; all but total are 0 until the run is completed'),
    per_model_usage: z
      .array(
        z.object({
          model_name: z.string().describe('The model that answered'),
          invocation_count: z.int().describe('Its answers'),
          prompt_tokens: tokens('items'),
          completion_tokens: tokens('answers'),
          total_tokens: z.int().describe('The sum of both'),
          cached_tokens: z.int().describe('Always 0: not counted'),
        }),
      )
      .describe('Empty until the run is completed'),
    per_testing_criteria_results: z
      .array(
        z.object({
          testing_criteria: z.string().describe('The name of the criterion'),
          passed: z.int().describe('Items that pass it'),
          failed: z.int().describe('Items that do not'),
        }),
      )
      .describe('Empty until the run is completed'),
    error: ApiError.nullable().describe('Why the run failed; null otherwise'),
  }),
)

export const EvalRunList = named('OpenAiEvalRunList', listOf(EvalRunObject, 'runs'))

export const EvalRunListQuery = z.strictObject({
  after: queryText().optional().describe('The id of the last run of the previous page'),
  limit: queryInt({ min: 1, max: 100 }).optional().describe('Default 20'),
  order: ListOrder.optional().describe('By creation time; default asc'),
  status: queryText().pipe(z.enum(allWords)).optional().describe('Only runs of this state'),
})

export const EvalRunDeleted = named(
  'OpenAiEvalRunDeleted',
  z.object({
    object: z.literal('eval.run.deleted').describe('Always eval.run.deleted'),
    deleted: z.boolean().describe('Always true'),
    run_id: z.string().describe('The id of the run'),
  }),
)

const Said = z.object({
  role: z.string().describe('Who says the message'),
  content: z.string().describe('The text of the message'),
})

export const OutputItemObject = named(
  'OpenAiEvalOutputItem',
  z.object({
    id: z.string().describe('The id of the output item'),
    object: z.literal('eval.run.output_item').describe('Always eval.run.output_item'),
    run_id: z.string().describe('The id of the run'),
    eval_id: z.string().describe('The id of the eval'),
    created_at: z.int().describe('When the run was accepted, in seconds since 1970'),
    status: z.enum(['pass', 'fail', 'error']).describe('pass when every criterion passes'),
    datasource_item_id: z.int().describe('The position among the items of the run, from 0'),
    datasource_item: object.describe('The item'),
    results: z
      .array(
        z.object({
          name: z.string().describe('The name of the criterion'),
          type: z.string().describe('The type of the criterion'),
          passed: z.boolean().describe('Whether the item passes'),
          score: z.number().nullable().describe('The score; null when there is none'),
          label: z.string().optional().describe('The label that a judge chose'),
          error: z.string().optional().describe('Why there is no score'),
        }),
      )
      .describe('One for each criterion. Empty when the model refused the item'),
    sample: z
      .object({
        input: z.array(Said).describe('The conversation that the model got'),
        output: z
          .array(Said.extend({ tool_calls: z.array(z.unknown()).optional().describe('Calls of functions') }))
          .describe('The answer'),
        finish_reason: z.string().nullable().describe('Why the answer ended'),
        model: z.string().nullable().describe('The model that answered'),
        usage: object.nullable().describe('The tokens of the answer'),
        error: ApiError.nullable().describe('Why there is no answer'),
        temperature: z.number().nullable().describe('As in the request'),
        top_p: z.number().nullable().describe('As in the request'),
        seed: z.int().nullable().describe('As in the request'),
        max_completion_tokens: z.int().nullable().describe('As in the request'),
      })
      .describe('The conversation with its answer'),
  }),
)

export const OutputItemList = named('OpenAiEvalOutputItemList', listOf(OutputItemObject, 'output items'))

export const OutputItemListQuery = z.strictObject({
  after: queryText().optional().describe('The id of the last output item of the previous page'),
  limit: queryInt({ min: 1, max: 100 }).optional().describe('Default 20'),
  order: ListOrder.optional().describe('By position; default asc'),
  status: queryText()
    .pipe(z.enum(['pass', 'fail']))
    .optional()
    .describe('Only items with this outcome'),
})

export function runOf(evaluation: EvalRun): z.output<typeof EvalRunObject> {
  const { id, evalId, spec, status, message, request, rowCount, summary } = evaluation
  const { outcomes, criteria = [], usage = null } = summary?.run ?? {}
  const model = spec.sampling ? (request.models[0]?.name ?? null) : null
  return {
    id: idOf('evalrun', id),
    object: 'eval.run',
    eval_id: idOf('eval', evalId),
    created_at: seconds(evaluation.createdAt),
    status: words[status],
    name: spec.name,
    model,
    metadata: spec.metadata,
    data_source: spec.dataSource,
    report_url: null,
    result_counts: {
      total: rowCount ?? 0,
      passed: outcomes?.pass ?? 0,
      failed: outcomes?.fail ?? 0,
      errored: outcomes?.error ?? 0,
    },
    per_model_usage: usage === null ? [] : [usageOf(model ?? 'unknown', usage)],
    per_testing_criteria_results: criteria.map(({ name, passed, failed }) => ({
      testing_criteria: name,
      passed,
      failed,
    })),
    error: status === 'FAILED' ? { code: 'run_failed', message: message ?? 'The run failed.' } : null,
  }
}

type Usage = NonNullable<NonNullable<NonNullable<EvalRun['summary']>['run']>['usage']>

const usageOf = (model: string, { invocations, ...counts }: Usage) => ({
  model_name: model,
  invocation_count: invocations,
  ...counts,
  cached_tokens: 0,
})

const outputItemId = (runId: string, index: number) => `${idOf('outputitem', runId)}_${index}`

export function outputItemOf(evaluation: EvalRun, item: OutputItem): z.output<typeof OutputItemObject> {
  const { id, evalId, spec, createdAt } = evaluation
  const { sample, error, results } = item.judged
  const fields = (spec.sampling?.fields ?? {}) as Partial<
    Record<'temperature' | 'top_p' | 'seed' | 'max_completion_tokens', number>
  >
  const output = {
    role: 'assistant',
    content: sample?.output_text ?? '',
    ...(sample?.output_tools && { tool_calls: sample.output_tools }),
  }
  return {
    id: outputItemId(id, item.index),
    object: 'eval.run.output_item',
    run_id: idOf('evalrun', id),
    eval_id: idOf('eval', evalId),
    created_at: seconds(createdAt),
    status: item.outcome,
    datasource_item_id: item.index,
    datasource_item: item.source.item,
    results,
    sample: {
      input: saidIn(item.said),
      output: sample ? [output] : [],
      finish_reason: sample?.finish_reason ?? null,
      model: sample?.model ?? null,
      usage: sample?.usage ? { ...sample.usage, cached_tokens: 0 } : null,
      error: error === null ? null : { code: 'sample_failed', message: error },
      temperature: fields.temperature ?? null,
      top_p: fields.top_p ?? null,
      seed: fields.seed ?? null,
      max_completion_tokens: fields.max_completion_tokens ?? null,
    },
  }
}

/** A reference may lead to anything; the model then refused it. */
function saidIn(messages: unknown): z.output<typeof Said>[] {
  const parsed = z.array(z.looseObject({ role: z.string(), content: z.unknown() })).safeParse(messages)
  const textIn = (content: unknown) => (typeof content === 'string' ? content : JSON.stringify(content ?? ''))
  return (parsed.data ?? []).map(({ role, content }) => ({ role, content: textIn(content) }))
}
