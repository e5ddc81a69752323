// Ids that requests name: those of real objects of an account, and invented ones of the same form.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { encodeJobCursor } from '../../../src/services/training-jobs/list.ts'
import { eventually } from '../../support/eventually.ts'
import { sampleFile, sampleRows } from '../../support/rows.ts'
import { commitRollouts } from '../../support/rollouts.ts'
import { connection, createApi, type Api } from '../../support/stack.ts'

export type Names = Awaited<ReturnType<typeof ownedNames>>

const storedItems = [{ question: { text: 'When do you open?' }, answer: { text: 'We open at nine.' } }]

/** Makes one of everything, by real work. */
export async function ownedNames(api: Api) {
  const base = connection().baseModel
  const { webhookId, ...webhook } = await ownedWebhook(api)
  const location = await api.upload('owned-set', sampleFile)
  await api.upload('spare-set', sampleFile)
  await api.post('/v1/svc/data', { id: 'owned-shelf', data: storedItems })
  const cancelledJobId = await api.train({ data: sampleRows })
  await api.post(`/v1/train/jobs/${cancelledJobId}/cancel`)
  const jobId = await api.train({
    dataset_id: 'owned-set',
    custom_model_name: 'owned-bot',
    finetune_args: { max_steps: 1 },
  })
  const file = async () => (await api.post<{ id: string }>('/openai/v1/files', formOf('fine-tune'))).id
  const [fileId, spareFileId] = [await file(), await file()]
  const tuning = { model: base, training_file: fileId, hyperparameters: { n_epochs: 1 } }
  const tune = async () => Number((await api.post<{ id: string }>(`/openai/v1/fine_tuning/jobs`, tuning)).id.slice(6))
  const [spareJobId, pausedJobId] = [await tune(), await tune()]
  await api.post(`/openai/v1/fine_tuning/jobs/ftjob-${pausedJobId}/pause`)
  const evaluate = async () => (await api.post<{ id: string }>('/v1/evaluations', evaluation)).id
  const evaluation = { models: [base], dataset_id: 'owned-set', max_rows: 2 }
  const [evaluationId, cancelledEvaluationId] = [await evaluate(), await evaluate()]
  await api.post(`/v1/evaluations/${cancelledEvaluationId}/cancel`)
  const batch = async (path: string, body: object) => (await api.post<{ id: string }>(path, body)).id
  const completionBatchId = await batch('/v1/batch_completions', { model_name: base, prompt: ['a'], max_tokens: 2 })
  const streamId = await batch('/v3/streaming_completions', { model_name: base, prompt: 'a', max_tokens: 2 })
  const embeddingBatchId = await batch('/v1/batch_embeddings', { prompt: ['a'] })
  const { batchFileId, requestBatchId } = await ownedRequestBatch(api)
  const answer = { model: base, input: 'Who?', max_output_tokens: 2 }
  const respond = async () => (await api.post<{ id: string }>('/openai/v1/responses', answer)).id
  const [responseId, spareResponseId] = [await respond(), await respond()]
  const evals = await ownedEvals(api)
  const open = async () => (await api.post<{ id: string }>('/openai/v1/uploads', uploadBody)).id
  const [uploadId, spareUploadId] = [await open(), await open()]
  const part = await api.post<{ id: string }>(`/openai/v1/uploads/${uploadId}/parts`, partOf('{}'.padEnd(9)))
  const { model_name: modelName } = await api.untilStatus(jobId, 'COMPLETED')
  await commitRollouts(jobId, 1)
  const { model_name: spareModelName } = await api.untilStatus(spareJobId, 'COMPLETED')
  await api.untilStatus(cancelledJobId, 'CANCELLED')
  await api.untilStatus(pausedJobId, 'CANCELLED')
  const { deliveries } = await api.get<{ deliveries: { id: string }[] }>(`/v1/webhooks/${webhookId}/deliveries`)
  const { id: keyId } = await api.post<{ id: string }>('/v1/keys', { name: 'owned', scopes: ['read'] })
  return {
    keyId,
    webhookId,
    ...webhook,
    deliveryId: deliveries[0]?.id ?? assert.fail('no event for the webhook'),
    datasetId: 'owned-set',
    spareDatasetId: 'spare-set',
    location,
    storedId: 'owned-shelf',
    jobId,
    cancelledJobId,
    pausedJobId,
    fileId,
    spareFileId,
    spareModelName: spareModelName ?? assert.fail('a completed job without a model'),
    cursor: encodeJobCursor(jobId),
    modelName: modelName ?? assert.fail('a completed job without a model'),
    customName: 'owned-bot',
    evaluationId,
    cancelledEvaluationId,
    completionBatchId,
    streamId,
    embeddingBatchId,
    batchFileId,
    requestBatchId,
    ...evals,
    uploadId,
    spareUploadId,
    uploadPartId: part.id,
    responseId,
    spareResponseId,
  }
}

/** Runs whose items bring their samples, and one that is cancelled before so many items can be answered. */
async function ownedEvals(api: Api) {
  type Made = { id: string }
  const criterion = { type: 'string_check', name: 'same', operation: 'eq', reference: 'Ann' }
  const body = {
    data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
    testing_criteria: [{ ...criterion, input: '{{sample.output_text}}' }],
  }
  const make = async () => (await api.post<Made>('/openai/v1/evals', body)).id
  const [evalId, spareEvalId] = [await make(), await make()]
  const runs = `/openai/v1/evals/${evalId}/runs`
  const form = new FormData()
  form.set('purpose', 'evals')
  form.set('file', new Blob(['{"item": {"q": "Who?"}, "sample": {"output_text": "Ann"}}']), 'items.jsonl')
  const { id: itemFileId } = await api.post<Made>('/openai/v1/files', form)
  const given = { data_source: { type: 'jsonl', source: { type: 'file_id', id: itemFileId } } }
  const asked = {
    data_source: {
      type: 'responses',
      model: connection().baseModel,
      source: { type: 'file_content', content: Array.from({ length: 2000 }, () => ({ item: { q: 'Who?' } })) },
      input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.q}}' }] },
      sampling_params: { max_completion_tokens: 50 },
    },
  }
  const run = async (source: object) => (await api.post<Made>(runs, source)).id
  const cancelledEvalRunId = await run(asked)
  await api.post(`${runs}/${cancelledEvalRunId}/cancel`)
  const [evalRunId, spareEvalRunId] = [await run(given), await run(given)]
  for (const id of [evalRunId, spareEvalRunId])
    await eventually(async () => (await api.get<{ status: string }>(`${runs}/${id}`)).status === 'completed')
  const { data } = await api.get<{ data: Made[] }>(`${runs}/${evalRunId}/output_items`)
  const outputItemId = data[0]?.id ?? assert.fail('a completed run without an item')
  return { evalId, spareEvalId, evalRunId, cancelledEvalRunId, spareEvalRunId, outputItemId, itemFileId }
}

/** Cancelled before so many lines can be answered. */
async function ownedRequestBatch(api: Api) {
  const endpoint = '/v1/completions'
  const body = { model: connection().baseModel, prompt: 'a', max_tokens: 50 }
  const line = JSON.stringify({ custom_id: 'a', method: 'POST', url: endpoint, body })
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob([`${line}\n`.repeat(2000)]), 'requests.jsonl')
  const { id: batchFileId } = await api.post<{ id: string }>('/openai/v1/files', form)
  const asked = { input_file_id: batchFileId, endpoint, completion_window: '24h' }
  const { id: requestBatchId } = await api.post<{ id: string }>('/openai/v1/batches', asked)
  await api.post(`/openai/v1/batches/${requestBatchId}/cancel`)
  return { batchFileId, requestBatchId }
}

/** A webhook whose address does not answer. The first of its two secrets is the older one. */
async function ownedWebhook(api: Api) {
  type Webhook = { id: string; secrets: { id: string }[] }
  const body = { url: 'https://127.0.0.1:9/hooks' }
  const { id: webhookId, secrets } = await api.post<Webhook>('/v1/webhooks', body)
  await api.post(`/v1/webhooks/${webhookId}/rotate`, {})
  const spare = await api.post<Webhook>('/v1/webhooks', body)
  return { webhookId, webhookSecretId: secrets[0]?.id ?? assert.fail('no secret'), spareWebhookId: spare.id }
}

/** Of the stack's own account. It is made when it is used, because it lasts a minute. */
export async function makeConsoleLink(): Promise<string> {
  const { path } = await createApi(connection().apiKey).post<{ path: string }>('/v1/console/links')
  return path.split('#')[1] ?? assert.fail('a link without its secret')
}

export const uploadBody = { filename: 'rows.jsonl', purpose: 'fine-tune', mime_type: 'text/plain', bytes: 9 }

export function partOf(text: string): FormData {
  const form = new FormData()
  form.set('data', new Blob([text]), 'part')
  return form
}

/** One row, which is JSON by itself. */
export function formOf(purpose: string): FormData {
  const form = new FormData()
  form.set('purpose', purpose)
  form.set('file', new Blob(['{"prompt": "Who?", "completion": "Ann."}']), 'rows.jsonl')
  return form
}

export function madeUpNames(owned: Names): Names {
  const nobodysJob = 2_147_000_000
  return {
    keyId: 'e'.repeat(16),
    webhookId: randomUUID(),
    webhookSecretId: randomUUID(),
    spareWebhookId: randomUUID(),
    deliveryId: randomUUID(),
    datasetId: 'no-such-set',
    spareDatasetId: 'no-spare-set',
    location: owned.location.replaceAll(owned.datasetId, 'no-such-set').replace(/[0-9a-f-]{36}(?=\?)/, randomUUID()),
    storedId: 'no-such-shelf',
    jobId: nobodysJob,
    cancelledJobId: nobodysJob + 1,
    pausedJobId: nobodysJob + 2,
    fileId: `file-${'e'.repeat(32)}`,
    spareFileId: `file-${'d'.repeat(32)}`,
    spareModelName: 'e'.repeat(64),
    cursor: encodeJobCursor(nobodysJob),
    modelName: 'f'.repeat(64),
    customName: 'no-such-bot',
    evaluationId: randomUUID(),
    cancelledEvaluationId: randomUUID(),
    completionBatchId: randomUUID(),
    streamId: randomUUID(),
    embeddingBatchId: randomUUID(),
    batchFileId: `file-${'c'.repeat(32)}`,
    requestBatchId: `batch_${'c'.repeat(32)}`,
    uploadId: `upload_${'e'.repeat(32)}`,
    spareUploadId: `upload_${'d'.repeat(32)}`,
    uploadPartId: `part_${'e'.repeat(32)}`,
    evalId: `eval_${'e'.repeat(32)}`,
    spareEvalId: `eval_${'d'.repeat(32)}`,
    evalRunId: `evalrun_${'e'.repeat(32)}`,
    cancelledEvalRunId: `evalrun_${'d'.repeat(32)}`,
    spareEvalRunId: `evalrun_${'c'.repeat(32)}`,
    outputItemId: `outputitem_${'e'.repeat(32)}_0`,
    itemFileId: `file-${'b'.repeat(32)}`,
    responseId: `resp_${'e'.repeat(32)}`,
    spareResponseId: `resp_${'d'.repeat(32)}`,
  }
}

/** An answer without what must differ: the request's own id, the names that it repeats, random ids, signatures. */
export function withoutNames(body: unknown, names: Names): unknown {
  const { request_id: _id, instance: _instance, ...rest } = body as Record<string, unknown>
  let text = JSON.stringify(Array.isArray(body) ? body : rest)
  const shown = Object.values(names)
    .map(String)
    .toSorted((a, b) => b.length - a.length)
  // The number of a job may also be a part of an address.
  for (const name of shown)
    text = text.replaceAll(new RegExp(`(?<![\\w.-])${RegExp.escape(name)}(?![\\w-]|\\.\\d)`, 'g'), '<name>')
  text = text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>').replaceAll(/[0-9a-f]{32}/g, '<hash>')
  return JSON.parse(text.replaceAll(/\?X-Amz-[^"]*/g, '?<signature>'))
}
