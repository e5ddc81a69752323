import { z } from 'zod'
import { batchEndpoints } from '../../domain/inference-batch.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { cancelRequestBatch } from '../../services/batches/cancel-request-batch.ts'
import { createRequestBatch } from '../../services/batches/create-request-batch.ts'
import { findRequestBatch } from '../../services/batches/find-request-batch.ts'
import { listRequestBatches } from '../../services/batches/list-request-batches.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { defineRoute } from '../kit/route.ts'
import { Batch, batchOf } from './batch-object.ts'
import { notFoundAt } from './errors.ts'
import { pageOf } from './files.ts'
import { requireUuid } from './ids.ts'
import { Metadata } from '../lamini/schemas/metadata.ts'

const path = '/openai/v1/batches'

const BatchRequest = named(
  'OpenAiBatchRequest',
  z.strictObject({
    input_file_id: z.string().max(64).describe('A file with the purpose batch: a request on each line'),
    endpoint: z.enum(batchEndpoints).describe('The `url` of every line'),
    completion_window: z.literal('24h', { error: 'must be "24h"' }).describe('Must be 24h'),
    metadata: Metadata.nullish().describe('Up to 16 pairs that the batch keeps'),
    output_expires_after: z
      .null({ error: 'is not supported: a file is kept until you delete it' })
      .optional()
      .describe('Not supported: leave it out, or send null'),
  }),
)

const BatchList = named(
  'OpenAiBatchList',
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(Batch).describe('The batches of the page, newest first'),
    first_id: z.string().nullable().describe('The id of the first item; null on an empty page'),
    last_id: z
      .string()
      .nullable()
      .describe('The id of the last item, the `after` of the next page; null on an empty page'),
    has_more: z.boolean().describe('Whether more follow'),
  }),
)

const ofOneBatch = {
  access: 'key',
  params: z.object({ batch_id: z.string().max(64).describe('The id of the batch') }),
  response: Batch,
} as const

export const batchRoutes = [
  defineRoute({
    name: 'openai_create_batch',
    method: 'post',
    path,
    summary: 'Answer the requests of a file in the background; survives restarts',
    access: 'key',
    scope: 'inference',
    body: BatchRequest,
    idempotent: true,
    errorStatuses: [404],
    response: Batch,
    async handle({ caller: ctx, body: { input_file_id: fileId, endpoint, metadata }, idempotency }) {
      const input = { fileId, endpoint, metadata: metadata ?? null }
      const accepted = createRequestBatch({ ctx, input, idempotency }).catch((error: unknown) => {
        throw error instanceof ServiceError && error.code === 'not_found' ? noInputFile(error) : error
      })
      return batchOf(await accepted)
    },
  }),
  defineRoute({
    name: 'openai_list_batches',
    method: 'get',
    path,
    summary: 'List the batches of the account, newest first',
    access: 'key',
    scope: 'read',
    query: z.strictObject({
      after: queryText().optional().describe('The id of the last batch of the previous page'),
      limit: queryInt({ min: 1, max: 100 }).optional().describe('Default 20'),
    }),
    errorStatuses: [404],
    hasLargeAnswer: true,
    response: BatchList,
    async handle({ caller: ctx, query: { after, limit = 20 } }) {
      const input = { after: after === undefined ? null : batchIdIn(after), limit }
      const { batches, hasMore } = await listRequestBatches({ ctx, input })
      return pageOf(batches.map(batchOf), hasMore)
    },
  }),
  defineRoute({
    ...ofOneBatch,
    name: 'openai_get_batch',
    method: 'get',
    path: `${path}/:batch_id`,
    summary: 'Get one batch',
    scope: 'read',
    handle: async ({ caller: ctx, params }) =>
      batchOf(await findRequestBatch({ ctx, input: { batchId: batchIdIn(params.batch_id) } })),
  }),
  defineRoute({
    ...ofOneBatch,
    name: 'openai_cancel_batch',
    method: 'post',
    path: `${path}/:batch_id/cancel`,
    summary: 'Begin no further request of a batch; what was answered stays',
    scope: 'inference',
    errorStatuses: [409],
    handle: async ({ caller: ctx, params }) =>
      batchOf(await cancelRequestBatch({ ctx, input: { batchId: batchIdIn(params.batch_id) } })),
  }),
]

const noInputFile = ({ message }: ServiceError) => notFoundAt('input_file_id', message)

/** @throws ServiceError not_found */
const batchIdIn = (id: string) =>
  requireUuid('batch', id, () => new ServiceError('not_found', 'There is no such batch.'))
