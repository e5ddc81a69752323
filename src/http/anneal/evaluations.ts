// Evaluations: accepted at once, processed durably, and read by id.
import { gradersOf } from '../../domain/grader.ts'
import { evaluationDefaults } from '../../domain/model-evaluation.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { cancelWork } from '../../services/durable-work/cancel.ts'
import { showWork, type Shown } from '../../services/durable-work/find.ts'
import { listWork } from '../../services/durable-work/list.ts'
import { createEvaluation } from '../../services/evaluations/create.ts'
import { listEvaluationRows } from '../../services/evaluations/list-rows.ts'
import { defineRoute, warningHeader } from '../kit/route.ts'
import {
  EvaluationAccepted,
  EvaluationCancelled,
  EvaluationList,
  EvaluationListQuery,
  EvaluationPath,
  EvaluationRequest,
  EvaluationRows,
  EvaluationRowsQuery,
  ModelEvaluation,
} from './schemas/evaluations.ts'
import { usedGrader } from '../lamini/schemas/scores.ts'

const kind = 'evaluation'
const defaultPageSize = 20
const defaultRowCount = 50

export const evaluationRoutes = [
  defineRoute({
    name: 'create_evaluation',
    method: 'post',
    path: '/v1/evaluations',
    summary: 'Let models answer the rows of a data set and score their answers, in the background; survives restarts',
    access: 'key',
    scope: 'inference',
    body: EvaluationRequest,
    idempotent: true,
    errorStatuses: [404],
    response: EvaluationAccepted,
    warns: true,
    handle({ caller: ctx, body, idempotency, setHeader }) {
      const input = {
        models: body.models,
        datasetId: body.dataset_id,
        graders: body.graders ? gradersOf(body.graders) : null,
        maxRows: body.max_rows ?? evaluationDefaults.rows,
        maxTokens: body.max_tokens ?? evaluationDefaults.tokens,
        asChat: body.as_chat ?? undefined,
        system: body.system ?? undefined,
        isSkipping: body.skip_bad_rows ?? false,
      }
      if (body.as_chat === false && body.system) setHeader(warningHeader, 'system has no effect with "as_chat": false.')
      return createEvaluation({ ctx, input, idempotency })
    },
  }),
  defineRoute({
    name: 'list_evaluations',
    method: 'get',
    path: '/v1/evaluations',
    summary: 'List the evaluations of the account, newest first',
    access: 'key',
    scope: 'read',
    query: EvaluationListQuery,
    hasLargeAnswer: true,
    response: EvaluationList,
    async handle({ caller: ctx, query: { after, limit = defaultPageSize } }) {
      const { rows, next } = await listWork({ ctx, input: { kind, after: after ?? null, limit } })
      return { evaluations: rows.map(shown), next }
    },
  }),
  defineRoute({
    name: 'get_model_evaluation',
    method: 'get',
    path: '/v1/evaluations/:id',
    summary: 'Get an evaluation, with its summary once it is complete',
    access: 'key',
    scope: 'read',
    params: EvaluationPath,
    hasLargeAnswer: true,
    response: ModelEvaluation,
    handle: async ({ caller: ctx, params: { id } }) => shown(await showWork(ctx, { kind, id })),
  }),
  defineRoute({
    name: 'cancel_evaluation',
    method: 'post',
    path: '/v1/evaluations/:id/cancel',
    summary: 'Cancel an open evaluation',
    access: 'key',
    scope: 'inference',
    params: EvaluationPath,
    hasLargeAnswer: true,
    response: EvaluationCancelled,
    async handle({ caller: ctx, params: { id } }) {
      await cancelWork({ ctx, input: { kind, id } })
      return { id, status: 'CANCELLED' as const }
    },
  }),
  defineRoute({
    name: 'list_evaluation_rows',
    method: 'get',
    path: '/v1/evaluations/:id/rows',
    summary: 'List the rows of an evaluation with the answers and their scores so far',
    access: 'key',
    scope: 'read',
    params: EvaluationPath,
    query: EvaluationRowsQuery,
    hasLargeAnswer: true,
    response: EvaluationRows,
    async handle({ caller: ctx, params: { id }, query: { offset = 0, limit = defaultRowCount } }) {
      const { rows, next } = await listEvaluationRows({ ctx, input: { id, offset, limit } })
      const outputsOf = (outputs: (typeof rows)[number]['outputs']) =>
        outputs.flatMap(({ model, answer }) => (answer ? [{ model, ...answer }] : []))
      const shownRow = ({ index, input, expected, outputs }: (typeof rows)[number]) => {
        return { index, input, expected, outputs: outputsOf(outputs) }
      }
      return { rows: rows.map(shownRow), next }
    },
  }),
]

type Evaluation = Shown<'evaluation'>

const formsOf = (models: Evaluation['request']['models'], areChats: boolean) =>
  Object.fromEntries(models.map(({ name, chat }) => [name, areChats || chat ? ('chat' as const) : ('prompt' as const)]))

function shown({ request, plan, summary, wait, ...evaluation }: Evaluation): ModelEvaluation {
  const graders = plan?.graders ?? request.graders
  return {
    id: evaluation.id,
    status: evaluation.status,
    status_reason: wait && wait.reason,
    message: wait ? wait.message : evaluation.message,
    models: request.models.map(({ name }) => name),
    model_names: request.models.map(({ modelName }) => modelName),
    dataset_id: evaluation.datasetId,
    graders: graders && graders.map(usedGrader),
    max_rows: evaluation.maxRows,
    max_tokens: request.maxTokens,
    as_chat: request.asChat ?? null,
    system: request.system ?? null,
    forms: plan && formsOf(request.models, plan.areChats ?? false),
    rows: evaluation.rowCount,
    ...(request.isSkipping && { skipped_rows: plan && (plan.skipped?.count ?? 0) }),
    ...(plan?.skipped?.note && { warnings: [plan.skipped.note] }),
    summary: summary && summary.models,
    comparison: summary && summary.comparison,
    created_at: wireTime(evaluation.createdAt),
    finished_at: evaluation.finishedAt && wireTime(evaluation.finishedAt),
  }
}
