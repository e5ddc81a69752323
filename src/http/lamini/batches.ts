// Batches: accepted at once, processed durably, and read by id from any replica.
import type { z } from 'zod'
import type { PromptBatchKind } from '../../domain/inference-batch.ts'
import { createBatch } from '../../services/batches/create-batch.ts'
import { getBatchResult } from '../../services/batches/get-batch-result.ts'
import { JsonText } from '../kit/respond.ts'
import { defineRoute, warningHeader } from '../kit/route.ts'
import { BatchAnswer, BatchParams, CompletionBatchResult, EmbeddingBatchResult } from './schemas/batches.ts'
import { CompletionRequest } from './schemas/completions.ts'
import { EmbeddingRequest } from './schemas/embeddings.ts'
import { completionBodyLimitBytes as bodyLimitBytes, promptsOf, samplingOf, warn } from './completion-input.ts'

export const batchRoutes = [
  completionBatch(
    'completions',
    '/v1/batch_completions',
    'Complete a batch of prompts in the background; survives restarts',
  ),
  result('completions', '/v1/batch_completions', CompletionBatchResult),
  completionBatch(
    'streaming',
    '/v3/streaming_completions',
    'Complete prompts in the background; partial texts can be read meanwhile',
  ),
  result('streaming', '/v3/streaming_completions', CompletionBatchResult),
  defineRoute({
    name: 'batch_embeddings',
    chapter: 'Embeddings',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1/batch_embeddings',
    summary: 'Embed a batch of texts in the background; survives restarts',
    access: 'key',
    scope: 'inference',
    body: EmbeddingRequest,
    bodyLimitBytes,
    allowsNul: true,
    idempotent: true,
    response: BatchAnswer,
    async handle({ caller: ctx, body, idempotency }) {
      const items = promptsOf(body)
      const { model_name: modelName = null, truncate } = body
      const input = { kind: 'embeddings', modelName, items, completion: null, truncate: truncate ?? false } as const
      const { id } = await createBatch({ ctx, input, idempotency })
      return { id }
    },
  }),
  result('embeddings', '/v1/batch_embeddings', EmbeddingBatchResult),
]

function completionBatch<const P extends string>(
  kind: Exclude<PromptBatchKind, 'embeddings'>,
  path: P,
  summary: string,
) {
  return defineRoute({
    name: nameOf(path),
    errorStatuses: [404, 594],
    method: 'post',
    path,
    summary,
    access: 'key',
    scope: 'inference',
    body: CompletionRequest,
    bodyLimitBytes,
    allowsNul: true,
    idempotent: true,
    response: BatchAnswer,
    warns: true,
    async handle({ caller: ctx, body, idempotency, setHeader }) {
      const input = { kind, modelName: body.model_name, items: promptsOf(body), completion: samplingOf(body) }
      const { id, warning } = await createBatch({ ctx, input, idempotency })
      warn(setHeader, body, warning)
      return { id }
    },
  })
}

function result<const P extends string, R>(kind: PromptBatchKind, path: P, response: z.ZodType<unknown, R>) {
  return defineRoute({
    name: `${nameOf(path)}_result`,
    ...(kind === 'embeddings' && { chapter: 'Embeddings' }),
    method: 'get',
    path: `${path}/:id/result` as const,
    summary: 'Get the results so far, in the order of the prompts',
    access: 'key',
    scope: 'inference',
    params: BatchParams,
    errorStatuses: [409],
    response,
    warns: kind !== 'embeddings',
    async handle({ caller: ctx, params: { id }, setHeader }) {
      const { text, warning } = await getBatchResult({ ctx, input: { kind, batchId: id } })
      if (warning !== null) setHeader(warningHeader, warning)
      return new JsonText(text)
    },
  })
}

function nameOf(path: string): string {
  return path.split('/')[2] ?? path
}
