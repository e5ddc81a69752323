import { z } from 'zod'
import { createEval } from '../../services/evals/create.ts'
import { deleteEval } from '../../services/evals/delete.ts'
import { findEval, noEval } from '../../services/evals/find.ts'
import { listEvals } from '../../services/evals/list.ts'
import { updateEval } from '../../services/evals/update.ts'
import { defineRoute } from '../kit/route.ts'
import { gradersOf } from '../../domain/eval-criteria.ts'
import { EvalChange, EvalDeleted, EvalList, EvalListQuery, EvalObject, evalOf, EvalRequest } from './eval-schemas.ts'
import { pageOf } from './files.ts'
import { requireUuid } from './ids.ts'

const path = '/openai/v1/evals'

const ofOneEval = {
  path: `${path}/:eval_id`,
  access: 'key',
  params: z.object({ eval_id: z.string().max(64).describe('The id of the eval') }),
} as const

const metadataOf = (pairs: Record<string, string> | null | undefined) =>
  pairs && Object.keys(pairs).length > 0 ? pairs : null

export const evalRoutes = [
  defineRoute({
    name: 'openai_create_eval',
    method: 'post',
    path,
    summary: 'Keep testing criteria, for runs that judge the answers of models',
    access: 'key',
    scope: 'inference',
    body: EvalRequest,
    idempotent: true,
    errorStatuses: [404],
    response: EvalObject,
    async handle({ caller: ctx, body, idempotency }) {
      const { item_schema: itemSchema, include_sample_schema: includesSample } = body.data_source_config
      const { testing_criteria: criteria } = body
      const definition = { itemSchema, includesSample: includesSample ?? false, criteria }
      const head = { name: body.name ?? '', metadata: metadataOf(body.metadata) }
      const input = { ...head, definition, graders: gradersOf(criteria) }
      return evalOf(await createEval({ ctx, input, idempotency }))
    },
  }),
  defineRoute({
    name: 'openai_list_evals',
    method: 'get',
    path,
    summary: 'List the evals of the account',
    access: 'key',
    scope: 'read',
    query: EvalListQuery,
    errorStatuses: [404],
    hasLargeAnswer: true,
    response: EvalList,
    async handle({ caller: ctx, query: { after, limit = 20, order, order_by: sortedBy } }) {
      const input = {
        after: after === undefined ? null : evalIdIn(after),
        limit,
        isOldestFirst: order !== 'desc',
        sortedBy: sortedBy === 'updated_at' ? ('updatedAt' as const) : ('createdAt' as const),
      }
      const { evals, hasMore } = await listEvals({ ctx, input })
      return pageOf(evals.map(evalOf), hasMore)
    },
  }),
  defineRoute({
    ...ofOneEval,
    name: 'openai_get_eval',
    method: 'get',
    summary: 'Get one eval',
    scope: 'read',
    hasLargeAnswer: true,
    response: EvalObject,
    handle: async ({ caller: ctx, params }) => evalOf(await findEval({ ctx, input: { id: evalIdIn(params.eval_id) } })),
  }),
  defineRoute({
    ...ofOneEval,
    name: 'openai_update_eval',
    method: 'post',
    summary: 'Change the name or the metadata of an eval',
    scope: 'inference',
    body: EvalChange,
    hasLargeAnswer: true,
    response: EvalObject,
    async handle({ caller: ctx, params, body: { name, metadata } }) {
      const change = { name: name ?? undefined, metadata: metadata === undefined ? undefined : metadataOf(metadata) }
      return evalOf(await updateEval({ ctx, input: { id: evalIdIn(params.eval_id), ...change } }))
    },
  }),
  defineRoute({
    ...ofOneEval,
    name: 'openai_delete_eval',
    method: 'delete',
    summary: 'Delete an eval with its runs, all of which must have ended',
    scope: 'inference',
    errorStatuses: [409],
    response: EvalDeleted,
    async handle({ caller: ctx, params: { eval_id: id } }) {
      await deleteEval({ ctx, input: { id: evalIdIn(id) } })
      return { object: 'eval.deleted' as const, deleted: true, eval_id: id }
    },
  }),
]

/** @throws ServiceError not_found */
export const evalIdIn = (id: string) => requireUuid('eval', id, noEval)
