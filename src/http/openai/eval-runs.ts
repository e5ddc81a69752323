import { z } from 'zod'
import { ServiceError } from '../../domain/service-error.ts'
import { cancelRun } from '../../services/eval-runs/cancel.ts'
import { createRun } from '../../services/eval-runs/create.ts'
import { deleteRun } from '../../services/eval-runs/delete.ts'
import { findRun, noRun } from '../../services/eval-runs/find.ts'
import { findOutputItem, listOutputItems } from '../../services/eval-runs/list-items.ts'
import { listRuns } from '../../services/eval-runs/list.ts'
import { defineRoute } from '../kit/route.ts'
import { gradersOf } from '../../domain/eval-criteria.ts'
import { readDataSource } from './eval-run-source.ts'
import {
  EvalRunDeleted,
  EvalRunList,
  EvalRunListQuery,
  EvalRunObject,
  EvalRunRequest,
  OutputItemList,
  OutputItemListQuery,
  OutputItemObject,
  outputItemOf,
  runOf,
  statusesOf,
} from './eval-run-schemas.ts'
import { evalIdIn } from './evals.ts'
import { pageOf } from './files.ts'
import { requireUuid, uuidIn } from './ids.ts'

const path = '/openai/v1/evals/:eval_id/runs'
/** A little more than the items may take. */
const bodyLimitBytes = 20 * 1024 * 1024

const evalParam = { eval_id: z.string().max(64).describe('The id of the eval') }
const runParam = { ...evalParam, run_id: z.string().max(64).describe('The id of the run') }

const ofOneRun = { path: `${path}/:run_id`, access: 'key', params: z.object(runParam) } as const
const inputOf = (params: { eval_id: string; run_id: string }) => ({
  evalId: evalIdIn(params.eval_id),
  id: runIdIn(params.run_id),
})

export const evalRunRoutes = [
  defineRoute({
    name: 'openai_create_eval_run',
    method: 'post',
    path,
    summary: 'Let a model answer items and judge its answers, in the background; survives restarts',
    access: 'key',
    scope: 'inference',
    params: z.object(evalParam),
    body: EvalRunRequest,
    bodyLimitBytes,
    idempotent: true,
    response: EvalRunObject,
    async handle({ caller: ctx, params, body, idempotency, signal }) {
      const read = await readDataSource(ctx, body.data_source, signal)
      const evalId = evalIdIn(params.eval_id)
      const input = { evalId, name: body.name ?? null, metadata: body.metadata ?? null, gradersOf, ...read }
      return runOf(await createRun({ ctx, input, idempotency }))
    },
  }),
  defineRoute({
    name: 'openai_list_eval_runs',
    method: 'get',
    path,
    summary: 'List the runs of an eval',
    access: 'key',
    scope: 'read',
    params: z.object(evalParam),
    query: EvalRunListQuery,
    hasLargeAnswer: true,
    response: EvalRunList,
    async handle({ caller: ctx, params, query: { after, limit = 20, order, status } }) {
      const page = { limit, isOldestFirst: order !== 'desc', statuses: status ? statusesOf(status) : null }
      const last = after === undefined ? null : runIdIn(after)
      const input = { evalId: evalIdIn(params.eval_id), after: last, ...page }
      const { runs, hasMore } = await listRuns({ ctx, input })
      return pageOf(runs.map(runOf), hasMore)
    },
  }),
  defineRoute({
    ...ofOneRun,
    name: 'openai_get_eval_run',
    method: 'get',
    summary: 'Get one run of an eval, with its figures once it is completed',
    scope: 'read',
    hasLargeAnswer: true,
    response: EvalRunObject,
    handle: async ({ caller: ctx, params }) => runOf(await findRun({ ctx, input: inputOf(params) })),
  }),
  defineRoute({
    ...ofOneRun,
    name: 'openai_cancel_eval_run',
    method: 'post',
    // Older SDKs post to the run itself.
    path: `${path}/:run_id/cancel`,
    aliases: [`${path}/:run_id`],
    summary: 'Cancel an open run; what is judged is kept',
    scope: 'inference',
    errorStatuses: [409],
    hasLargeAnswer: true,
    response: EvalRunObject,
    handle: async ({ caller: ctx, params }) => runOf(await cancelRun({ ctx, input: inputOf(params) })),
  }),
  defineRoute({
    ...ofOneRun,
    name: 'openai_delete_eval_run',
    method: 'delete',
    summary: 'Delete an ended run with its items',
    scope: 'inference',
    errorStatuses: [409],
    response: EvalRunDeleted,
    async handle({ caller: ctx, params }) {
      await deleteRun({ ctx, input: inputOf(params) })
      return { object: 'eval.run.deleted' as const, deleted: true, run_id: params.run_id }
    },
  }),
  defineRoute({
    ...ofOneRun,
    name: 'openai_list_eval_output_items',
    method: 'get',
    path: `${path}/:run_id/output_items`,
    summary: 'List the items of a run that are judged so far, with their answers and results',
    scope: 'read',
    query: OutputItemListQuery,
    hasLargeAnswer: true,
    response: OutputItemList,
    async handle({ caller: ctx, params, query: { after, limit = 20, order, status } }) {
      const run = await findRun({ ctx, input: inputOf(params) })
      const last = after === undefined ? null : indexIn(after, run.id)
      const input = { run, after: last, limit, isOldestFirst: order !== 'desc', outcome: status ?? null }
      const { items, hasMore } = await listOutputItems({ ctx, input })
      return pageOf(
        items.map((item) => outputItemOf(run, item)),
        hasMore,
      )
    },
  }),
  defineRoute({
    name: 'openai_get_eval_output_item',
    method: 'get',
    path: `${path}/:run_id/output_items/:output_item_id`,
    summary: 'Get one item of a run with its answer and results',
    access: 'key',
    scope: 'read',
    params: z.object({ ...runParam, output_item_id: z.string().max(64).describe('The id of the output item') }),
    hasLargeAnswer: true,
    response: OutputItemObject,
    async handle({ caller: ctx, params }) {
      const run = await findRun({ ctx, input: inputOf(params) })
      const index = indexIn(params.output_item_id, run.id)
      return outputItemOf(run, await findOutputItem({ ctx, input: { run, index } }))
    },
  }),
]

/** @throws ServiceError not_found */
const runIdIn = (id: string) => requireUuid('evalrun', id, noRun)

/** The position that an output item's id names. @throws ServiceError not_found for an item of another run */
function indexIn(id: string, runId: string): number {
  const [, item = '', index] = /^(outputitem_[0-9a-f]{32})_(0|[1-9]\d{0,4})$/.exec(id) ?? []
  if (index === undefined || uuidIn('outputitem', item) !== runId)
    throw new ServiceError('not_found', 'There is no such output item of this run.')
  return Number(index)
}
