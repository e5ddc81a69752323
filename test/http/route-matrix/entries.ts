// A route an entry, by its operation id: how it is asked rightly, how wrongly, and by which names it could reach another account.
import { uuidIn } from '../../../src/http/openai/ids.ts'
import { connection } from '../../support/stack.ts'
import { formOf, makeConsoleLink, partOf, uploadBody, type Names } from './names.ts'

export type Sent = { params?: Record<string, string | number>; query?: string; body?: unknown }
/** Why a case cannot be. */
type Reason = string

export type Entry = {
  /** The first must succeed for the owner of the names; a stranger gets for each what he gets for names that nobody has. */
  about: readonly ((names: Names) => Sent | Promise<Sent>)[]
  /** For routes without an id: `lists` says that the answer must show nothing of another account. */
  foreign?: 'lists' | { notApplicable: Reason }
  invalid: { sent: (names: Names) => Sent; status: 400 | 404 } | { notApplicable: Reason }
}

const base = connection().baseModel
const takesNothing = { notApplicable: 'takes nothing' }
const namesNothing = { notApplicable: 'names nothing' }
const bad = (sent: Sent): Entry['invalid'] => ({ sent: () => sent, status: 400 })
const noId = (params: NonNullable<Sent['params']>): Entry['invalid'] => ({ sent: () => ({ params }), status: 404 })

const complete = {
  about: [
    ({ modelName }) => ({ body: { model_name: modelName, prompt: 'Who?', max_tokens: 2 } }),
    ({ customName }) => ({ body: { model_name: customName, prompt: 'Who?', max_tokens: 2 } }),
    ({ storedId }) => ({ body: { model_name: base, id: storedId, prompt: 'When do you open?', max_tokens: 2 } }),
    ({ storedId }) => ({ body: { model_name: storedId, prompt: 'When do you open?', max_tokens: 2 } }),
  ],
  invalid: bad({ body: { model_name: base, prompt: 7 } }),
} satisfies Entry

const embed = {
  about: [({ modelName }) => ({ body: { model_name: modelName, prompt: 'a cat' } })],
  invalid: bad({ body: { prompt: [7] } }),
} satisfies Entry

const batchResult = (name: 'completionBatchId' | 'streamId' | 'embeddingBatchId'): Entry => ({
  about: [(names) => ({ params: { id: names[name] } })],
  invalid: noId({ id: 'x' }),
})

/** The batch of requests is cancelled already: a repeat gets the same answer. */
const listedBatch: Entry = {
  about: [
    ({ requestBatchId: id }) => ({ params: { id } }),
    ({ requestBatchId: id }) => ({ params: { id: uuidIn('batch', id) ?? '' } }),
  ],
  invalid: noId({ id: 'x' }),
}

const evaluation = (name: 'evaluationId' | 'cancelledEvaluationId', query?: string): Entry => ({
  about: [(names) => ({ params: { id: names[name] } })],
  invalid:
    query === undefined
      ? noId({ id: 'x' })
      : { sent: ({ evaluationId: id }) => ({ params: { id }, query }), status: 400 },
})

const job = (query?: string): Entry => ({
  about: [({ jobId }) => ({ params: { job_id: jobId } })],
  invalid:
    query === undefined
      ? noId({ job_id: '007' })
      : { sent: ({ jobId }) => ({ params: { job_id: jobId }, query }), status: 400 },
})

const importedDataset = {
  ...{ dataset_id: 'moved-set', version: 1, created_at: '2026-11-01T08:00:00.000Z', file_name: null, purpose: null },
  ...{ expires_at: null, is_public: false, columns: null, size: 1000, sha256: 'a'.repeat(64) },
}
const importedJob = {
  ...{ installation: '00000000-0000-4000-8000-000000000001', job_id: 12, base_model: base },
  record: { size: 1000, sha256: 'b'.repeat(64) },
  files: [
    { name: 'adapter_model.safetensors', size: 100_000, sha256: 'c'.repeat(64) },
    { name: 'adapter_config.json', size: 1000, sha256: 'd'.repeat(64) },
  ],
}

const datasetInBody = (more: object = {}): Entry => ({
  about: [({ datasetId }) => ({ body: { dataset_id: datasetId, ...more } })],
  invalid: bad({ body: { dataset_id: 7 } }),
})

const nobodysId = '00000000-0000-4000-8000-000000000000'

const webhook = (right: Sent = {}, wrong?: Sent): Entry => {
  const params = ({ webhookId }: Names) => ({ webhook_id: webhookId })
  return {
    about: [(names) => ({ ...right, params: params(names) })],
    invalid: wrong
      ? { sent: (names) => ({ ...wrong, params: params(names) }), status: 400 }
      : noId({ webhook_id: 'x' }),
  }
}

const open: Entry = { about: [() => ({})], foreign: { notApplicable: 'shows no account' }, invalid: takesNothing }

const openAiJob = (name: 'jobId' | 'cancelledJobId' | 'pausedJobId', query?: string): Entry => ({
  about: [(names) => ({ params: { fine_tuning_job_id: `ftjob-${names[name]}` } })],
  invalid:
    query === undefined
      ? noId({ fine_tuning_job_id: '7' })
      : { sent: ({ jobId }) => ({ params: { fine_tuning_job_id: `ftjob-${jobId}` }, query }), status: 400 },
})

const openAiFile = (name: 'fileId' | 'spareFileId'): Entry => ({
  about: [(names) => ({ params: { file_id: names[name] } })],
  invalid: noId({ file_id: 'x'.repeat(65) }),
})

const batchBody = (fileId: string) => ({
  input_file_id: fileId,
  endpoint: '/v1/completions',
  completion_window: '24h',
})

const openAiBatch: Entry = {
  about: [({ requestBatchId }) => ({ params: { batch_id: requestBatchId } })],
  invalid: noId({ batch_id: 'x' }),
}

const openAiResponse = (name: 'responseId' | 'spareResponseId'): Entry => ({
  about: [(names) => ({ params: { response_id: names[name] } })],
  invalid: noId({ response_id: 'x' }),
})

const evalBody = (model: string) => ({
  data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
  testing_criteria: [
    {
      type: 'label_model',
      name: 'judge',
      model,
      input: [{ role: 'user', content: '{{sample.output_text}}' }],
      labels: ['yes', 'no'],
      passing_labels: ['yes'],
    },
  ],
})

const evalRunBody = (model: string, source: object) => ({
  data_source: {
    type: 'completions',
    model,
    source,
    input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.q}}' }] },
    sampling_params: { max_completion_tokens: 2 },
  },
})
const evalItems = { type: 'file_content', content: [{ item: { q: 'Who?' } }] }

const graderBody = (model: string) => ({ grader: evalBody(model).testing_criteria[0] })

const openAiEval = (name: 'evalId' | 'spareEvalId', right: Sent = {}): Entry => ({
  about: [(names) => ({ params: { eval_id: names[name] }, ...right })],
  invalid: { sent: () => ({ params: { eval_id: 'x' }, ...right }), status: 404 },
})

const openAiEvalRun = (name: 'evalRunId' | 'cancelledEvalRunId' | 'spareEvalRunId', query?: string): Entry => ({
  about: [(names) => ({ params: { eval_id: names.evalId, run_id: names[name] } })],
  invalid: {
    sent: ({ evalId, evalRunId }) =>
      query === undefined
        ? { params: { eval_id: evalId, run_id: 'x' } }
        : { params: { eval_id: evalId, run_id: evalRunId }, query },
    status: query === undefined ? 404 : 400,
  },
})

const openAi: Record<string, Entry> = {
  openai_list_models: { about: [() => ({})], foreign: 'lists', invalid: takesNothing },
  openai_get_model: {
    about: [({ modelName }) => ({ params: { model: modelName } })],
    invalid: noId({ model: 'x'.repeat(257) }),
  },
  openai_chat_completions: {
    about: [
      ({ modelName }) => ({
        body: { model: modelName, messages: [{ role: 'user', content: 'Who?' }], max_tokens: 2 },
      }),
    ],
    invalid: bad({ body: { model: base, messages: [{ role: 'user', content: 'Who?' }], n: 0 } }),
  },
  openai_create_response: {
    about: [
      ({ modelName }) => ({ body: { model: modelName, input: 'Who?', max_output_tokens: 2 } }),
      ({ responseId }) => ({
        body: { model: base, input: 'Who?', previous_response_id: responseId, max_output_tokens: 2 },
      }),
    ],
    invalid: bad({ body: { model: base, input: 'Who?', store: 'yes' } }),
  },
  openai_get_response: openAiResponse('responseId'),
  openai_list_response_input_items: openAiResponse('responseId'),
  openai_completions: {
    about: [
      ({ modelName }) => ({ body: { model: modelName, prompt: 'Who?', max_tokens: 2 } }),
      ({ storedId }) => ({ body: { model: storedId, prompt: 'When do you open?', max_tokens: 2 } }),
    ],
    invalid: bad({ body: { model: base, prompt: 'Who?', best_of: 2 } }),
  },
  openai_embeddings: {
    about: [({ modelName }) => ({ body: { model: modelName, input: 'a cat' } })],
    invalid: bad({ body: { model: base, input: [7] } }),
  },
  openai_create_file: {
    about: [() => ({ body: formOf('fine-tune') })],
    foreign: namesNothing,
    invalid: bad({ body: formOf('vision') }),
  },
  openai_list_files: {
    about: [() => ({}), ({ fileId }) => ({ query: `after=${fileId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'order=up' }),
  },
  openai_get_file: openAiFile('fileId'),
  openai_get_file_content: openAiFile('fileId'),
  openai_create_upload: {
    about: [() => ({ body: uploadBody })],
    foreign: namesNothing,
    invalid: bad({ body: { ...uploadBody, purpose: 'vision' } }),
  },
  openai_add_upload_part: {
    about: [({ uploadId }) => ({ params: { upload_id: uploadId }, body: partOf('{}') })],
    invalid: { sent: ({ uploadId }) => ({ params: { upload_id: uploadId }, body: partOf('') }), status: 400 },
  },
  openai_complete_upload: {
    about: [({ uploadId, uploadPartId }) => ({ params: { upload_id: uploadId }, body: { part_ids: [uploadPartId] } })],
    invalid: {
      sent: ({ uploadId }) => ({ params: { upload_id: uploadId }, body: { part_ids: ['part_x'] } }),
      status: 400,
    },
  },
  openai_cancel_upload: {
    about: [({ spareUploadId }) => ({ params: { upload_id: spareUploadId } })],
    invalid: noId({ upload_id: 'x' }),
  },
  openai_create_batch: {
    about: [({ batchFileId }) => ({ body: batchBody(batchFileId) })],
    invalid: bad({ body: { ...batchBody('x'), endpoint: '/v1/responses' } }),
  },
  openai_list_batches: {
    about: [() => ({}), ({ requestBatchId }) => ({ query: `after=${requestBatchId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'limit=101' }),
  },
  openai_get_batch: openAiBatch,
  openai_cancel_batch: openAiBatch,
  openai_create_eval: {
    about: [({ modelName }) => ({ body: evalBody(modelName) })],
    invalid: bad({ body: { ...evalBody(base), testing_criteria: [{ type: 'python', name: 'p', source: '' }] } }),
  },
  openai_list_evals: {
    about: [() => ({}), ({ evalId }) => ({ query: `after=${evalId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'limit=101' }),
  },
  openai_get_eval: openAiEval('evalId'),
  openai_update_eval: openAiEval('evalId', { body: { name: 'renamed' } }),
  openai_create_eval_run: {
    about: [
      ({ evalId, modelName }) => ({ params: { eval_id: evalId }, body: evalRunBody(modelName, evalItems) }),
      ({ evalId, itemFileId }) => ({
        params: { eval_id: evalId },
        body: evalRunBody(base, { type: 'file_id', id: itemFileId }),
      }),
    ],
    invalid: {
      sent: ({ evalId }) => ({
        params: { eval_id: evalId },
        body: evalRunBody(base, { type: 'stored_completions' }),
      }),
      status: 400,
    },
  },
  openai_list_eval_runs: {
    about: [({ evalId }) => ({ params: { eval_id: evalId } })],
    invalid: { sent: ({ evalId }) => ({ params: { eval_id: evalId }, query: 'status=done' }), status: 400 },
  },
  openai_get_eval_run: openAiEvalRun('evalRunId'),
  openai_cancel_eval_run: openAiEvalRun('cancelledEvalRunId'),
  openai_list_eval_output_items: openAiEvalRun('evalRunId', 'status=error'),
  openai_get_eval_output_item: {
    about: [
      ({ evalId, evalRunId, outputItemId }) => ({
        params: { eval_id: evalId, run_id: evalRunId, output_item_id: outputItemId },
      }),
    ],
    invalid: {
      sent: ({ evalId, evalRunId }) => ({
        params: { eval_id: evalId, run_id: evalRunId, output_item_id: 'x' },
      }),
      status: 404,
    },
  },
  openai_create_fine_tuning_job: {
    about: [
      ({ fileId }) => ({ body: { model: base, training_file: fileId } }),
      ({ fileId, modelName }) => ({ body: { model: modelName, training_file: fileId } }),
    ],
    invalid: bad({ body: { model: base, training_file: 7 } }),
  },
  openai_list_fine_tuning_jobs: {
    about: [() => ({}), ({ jobId }) => ({ query: `after=ftjob-${jobId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'limit=101' }),
  },
  openai_get_fine_tuning_job: openAiJob('jobId'),
  openai_list_fine_tuning_events: openAiJob('jobId', 'after=x'),
  openai_list_fine_tuning_checkpoints: openAiJob('jobId', 'after=x'),
  openai_pause_fine_tuning_job: openAiJob('pausedJobId'),
  openai_resume_fine_tuning_job: openAiJob('pausedJobId'),
  openai_cancel_fine_tuning_job: openAiJob('cancelledJobId'),
  openai_run_grader: {
    about: [({ modelName }) => ({ body: { ...graderBody(modelName), model_sample: 'Ann.' } })],
    invalid: bad({ body: { ...graderBody(base), model_sample: null } }),
  },
  openai_validate_grader: {
    about: [({ modelName }) => ({ body: graderBody(modelName) })],
    invalid: bad({ body: { grader: { type: 'python', source: '' } } }),
  },
  openai_delete_file: openAiFile('spareFileId'),
  openai_delete_eval_run: openAiEvalRun('spareEvalRunId'),
  openai_delete_eval: openAiEval('spareEvalId'),
  openai_delete_response: openAiResponse('spareResponseId'),
  openai_delete_model: {
    about: [({ spareModelName }) => ({ params: { model: spareModelName } })],
    invalid: bad({ params: { model: base } }),
  },
}

/** In the order in which they are asked: what takes something away comes last. */
export const entries: Record<string, Entry> = {
  healthz: open,
  readyz: open,
  get_sign_in: open,
  version: open,
  openapi: open,

  completions: complete,
  completions_v2: complete,
  streaming_completions_v1: complete,
  batch_completions: complete,
  batch_completions_result: batchResult('completionBatchId'),
  streaming_completions: complete,
  streaming_completions_result: batchResult('streamId'),
  embedding: embed,
  batch_embeddings: embed,
  batch_embeddings_result: batchResult('embeddingBatchId'),
  reservation: {
    about: [({ modelName }) => ({ body: { model_name: modelName, capacity: 1 } })],
    invalid: bad({ body: { capacity: -1 } }),
  },

  data: datasetInBody(),
  existing_data: datasetInBody(),
  num_datapoints: datasetInBody({ num_datapoints: 40 }),
  local_data: datasetInBody({ upload_base_path: 's3', data: [{ input: 'a', output: 'b' }] }),
  get_dataset: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId } })],
    invalid: noId({ dataset_id: '..%2Fx' }),
  },
  list_datasets: {
    about: [() => ({}), ({ datasetId }) => ({ query: `after=${datasetId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'after=..' }),
  },
  get_dataset_version: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId, version: 1 } })],
    invalid: { sent: ({ datasetId }) => ({ params: { dataset_id: datasetId, version: 'x' } }), status: 404 },
  },
  list_dataset_versions: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId } })],
    invalid: { sent: ({ datasetId }) => ({ params: { dataset_id: datasetId }, query: 'after=0' }), status: 400 },
  },
  preview_dataset_rows: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId } })],
    invalid: { sent: ({ datasetId }) => ({ params: { dataset_id: datasetId }, query: 'limit=101' }), status: 400 },
  },
  map_dataset_columns: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId }, body: { output: 'output' } })],
    invalid: {
      sent: ({ datasetId }) => ({ params: { dataset_id: datasetId }, body: { output: 'no such column' } }),
      status: 400,
    },
  },
  set_dataset_columns: {
    about: [({ datasetId }) => ({ params: { dataset_id: datasetId }, body: { input: 'input', output: 'output' } })],
    invalid: {
      sent: ({ datasetId }) => ({ params: { dataset_id: datasetId }, body: { output: 'no such column' } }),
      status: 400,
    },
  },
  get_upload_base_path: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  store_data: {
    about: [({ storedId }) => ({ body: { id: storedId, data: [{ note: { text: 'We close at six.' } }] } })],
    invalid: bad({ body: { id: 'x', data: [{ note: 'no fields' }] } }),
  },

  train: {
    about: [
      ({ datasetId }) => ({ body: { model_name: base, dataset_id: datasetId } }),
      ({ location }) => ({ body: { model_name: base, upload_file_path: location } }),
      ({ datasetId }) => ({ body: { model_name: base, upload_file_path: datasetId } }),
      ({ storedId }) => ({ body: { model_name: base, id: storedId } }),
      ({ modelName }) => ({ body: { model_name: modelName, data: [{ input: 'a', output: 'b' }] } }),
    ],
    invalid: bad({ body: { model_name: base, finetune_args: { max_steps: 0 }, data: [{ input: 'a', output: 'b' }] } }),
  },
  list_training_methods: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  list_training_jobs: {
    about: [() => ({}), ({ cursor }) => ({ query: `after=${cursor}&limit=10` })],
    foreign: 'lists',
    invalid: bad({ query: 'limit=0' }),
  },
  list_training_job_briefs: {
    about: [
      () => ({}),
      ({ cursor }) => ({ query: `after=${cursor}&limit=10` }),
      ({ jobId }) => ({ query: `job_ids=${jobId}` }),
      ({ datasetId }) => ({ query: `dataset_id=${datasetId}&status=open,COMPLETED` }),
    ],
    foreign: 'lists',
    invalid: bad({ query: 'state=open' }),
  },
  get_training_job: job(),
  get_evaluation: job(),
  get_training_job_log: job('limit=0'),
  list_training_job_events: job('after=x'),
  list_attempts: job('after=0'),
  list_training_job_metrics: job('since_step=x'),
  list_rollouts: job('limit=0'),
  read_training_job_record: job(),
  read_skipped_rows: {
    about: [({ jobId }) => ({ params: { job_id: jobId } })],
    invalid: noId({ job_id: 'x' }),
  },
  read_training_job_tensorboard_file: {
    about: [({ jobId }) => ({ params: { job_id: jobId } })],
    invalid: noId({ job_id: 'x' }),
  },
  // A job that has ended, so that the stream ends.
  follow_training_job: job('from=then'),
  cancel_training_job: {
    about: [({ cancelledJobId }) => ({ params: { job_id: cancelledJobId } })],
    invalid: bad({ params: { job_id: 1 }, body: [] }),
  },
  resume_training_job: {
    about: [({ cancelledJobId }) => ({ params: { job_id: cancelledJobId } })],
    invalid: bad({ params: { job_id: 1 }, body: 'x' }),
  },

  list_batches: {
    about: [
      () => ({}),
      ({ completionBatchId }) => ({ query: `after=${completionBatchId}` }),
      () => ({ query: 'status=open,CANCELLED&limit=100' }),
    ],
    foreign: 'lists',
    invalid: bad({ query: 'status=running' }),
  },
  get_batch: listedBatch,
  cancel_batch: listedBatch,

  create_evaluation: {
    about: [
      ({ modelName, datasetId }) => ({ body: { models: [base, modelName], dataset_id: datasetId, max_rows: 2 } }),
      ({ modelName }) => ({ body: { models: [modelName], dataset_id: 'spare-set', max_rows: 2 } }),
      ({ datasetId }) => ({ body: { models: [base], dataset_id: datasetId, max_rows: 2 } }),
      ({ modelName, datasetId }) => ({
        body: { models: [base], dataset_id: datasetId, graders: [{ type: 'model', model: modelName }], max_rows: 2 },
      }),
    ],
    invalid: bad({ body: { models: [base], dataset_id: 'owned-set', graders: [{ type: 'regex', pattern: '(' }] } }),
  },
  list_evaluations: {
    about: [() => ({}), ({ evaluationId }) => ({ query: `after=${evaluationId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'limit=101' }),
  },
  get_model_evaluation: evaluation('evaluationId'),
  list_evaluation_rows: evaluation('evaluationId', 'offset=x'),
  cancel_evaluation: evaluation('cancelledEvaluationId'),

  models: {
    about: [() => ({}), () => ({ query: 'limit=1' })],
    foreign: 'lists',
    invalid: bad({ query: 'after=none' }),
  },
  get_model: {
    about: [
      ({ customName }) => ({ params: { name: customName } }),
      ({ modelName }) => ({ params: { name: modelName } }),
    ],
    invalid: bad({ params: { name: base } }),
  },
  set_model_alias: {
    about: [({ customName }) => ({ params: { name: customName, alias: 'production' }, body: { version: 1 } })],
    invalid: {
      sent: ({ customName }) => ({ params: { name: customName, alias: '3' }, body: { version: 1 } }),
      status: 400,
    },
  },
  delete_model_alias: {
    about: [({ customName }) => ({ params: { name: customName, alias: 'production' } })],
    invalid: bad({ params: { name: base, alias: 'production' } }),
  },
  get_model_card: {
    about: [({ modelName }) => ({ params: { name: modelName } })],
    invalid: bad({ params: { name: base } }),
  },
  download_model: {
    about: [({ modelName }) => ({ params: { name: modelName } })],
    invalid: bad({ params: { name: base } }),
  },
  export_model: {
    about: [
      ({ modelName }) => ({ params: { name: modelName }, body: { format: 'adapter' } }),
      ({ customName }) => ({ params: { name: customName }, body: { format: 'adapter' } }),
      ({ modelName }) => ({ params: { name: modelName }, body: { format: 'merged' } }),
    ],
    invalid: {
      sent: ({ modelName }) => ({ params: { name: modelName }, body: { format: 'gguf' } }),
      status: 400,
    },
  },
  get_model_export: {
    about: [
      ({ modelName }) => ({ params: { name: modelName, export_id: `adapter-${modelName}` } }),
      ({ customName, modelName }) => ({ params: { name: customName, export_id: `adapter-${modelName}` } }),
    ],
    invalid: noId({ name: base, export_id: 'merged-1' }),
  },
  downloaded_models: { about: [() => ({})], foreign: 'lists', invalid: takesNothing },
  find_downloaded_model: {
    about: [() => ({ body: { hf_model_name: base } }), ({ modelName }) => ({ body: { hf_model_name: modelName } })],
    invalid: bad({ body: { hf_model_name: '' } }),
  },
  get_usage: {
    about: [() => ({})],
    // Its dates and counts may read like the numbers of jobs; test/e2e/usage.deep.test.ts sees that nothing of others shows.
    foreign: { notApplicable: 'names nothing' },
    invalid: bad({ query: 'from=2026-02-30' }),
  },
  get_training_usage: {
    about: [() => ({})],
    foreign: { notApplicable: 'names nothing' },
    invalid: bad({ query: 'from=2026-02-30' }),
  },
  get_limits: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  create_key: {
    about: [() => ({ body: { name: 'ours', scopes: ['read'] } })],
    foreign: namesNothing,
    invalid: bad({ body: { name: 'ours', scopes: ['root'] } }),
  },
  list_keys: {
    about: [() => ({}), ({ keyId }) => ({ query: `after=${keyId}` })],
    foreign: 'lists',
    invalid: bad({ query: 'after=x' }),
  },
  rotate_key: {
    about: [({ keyId }) => ({ params: { key_id: keyId }, body: { overlap_seconds: 60 } })],
    invalid: { sent: ({ keyId }) => ({ params: { key_id: keyId }, body: { overlap_seconds: -1 } }), status: 400 },
  },
  revoke_key: { about: [({ keyId }) => ({ params: { key_id: keyId } })], invalid: noId({ key_id: 'x' }) },
  create_webhook: {
    about: [() => ({ body: { url: 'https://example.com/hooks' } })],
    foreign: namesNothing,
    invalid: bad({ body: { url: 'ftp://example.com/' } }),
  },
  list_webhooks: { about: [() => ({})], foreign: 'lists', invalid: takesNothing },
  get_webhook: webhook(),
  update_webhook: webhook({ body: { description: 'ours' } }, { body: { event_types: ['job.done'] } }),
  remove_webhook_secret: {
    about: [
      ({ webhookId, webhookSecretId }) => ({ params: { webhook_id: webhookId, secret_id: webhookSecretId } }),
      ({ webhookSecretId }) => ({ params: { webhook_id: nobodysId, secret_id: webhookSecretId } }),
    ],
    invalid: noId({ webhook_id: 'x', secret_id: 'x' }),
  },
  // After it: while there are two secrets, there is no third.
  rotate_webhook_secret: webhook({ body: { overlap_seconds: 0 } }, { body: { overlap_seconds: -1 } }),
  list_webhook_deliveries: webhook({}, { query: 'after=x' }),
  replay_webhook_delivery: {
    about: [
      ({ webhookId, deliveryId }) => ({ params: { webhook_id: webhookId, delivery_id: deliveryId } }),
      ({ deliveryId }) => ({ params: { webhook_id: nobodysId, delivery_id: deliveryId } }),
    ],
    invalid: noId({ webhook_id: 'x', delivery_id: 'x' }),
  },
  import_dataset: {
    about: [() => ({ body: importedDataset })],
    foreign: namesNothing,
    invalid: bad({ body: { ...importedDataset, version: 0 } }),
  },
  import_training_job: {
    about: [() => ({ body: importedJob })],
    foreign: namesNothing,
    invalid: bad({ body: { ...importedJob, base_model: 'absent' } }),
  },
  list_audit_events: { about: [() => ({})], foreign: 'lists', invalid: bad({ query: 'limit=1001' }) },

  sign_in_to_console: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  get_console_session: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  sign_out_of_console: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  create_console_link: { about: [() => ({})], foreign: namesNothing, invalid: takesNothing },
  show_console_link: {
    about: [async () => ({ body: { link: await makeConsoleLink() } })],
    foreign: namesNothing,
    invalid: bad({ body: { link: '' } }),
  },
  open_console_link: {
    about: [async () => ({ body: { link: await makeConsoleLink() } })],
    foreign: namesNothing,
    invalid: bad({ body: { link: '' } }),
  },

  ...openAi,

  cancel_open_training_jobs: { about: [() => ({})], foreign: namesNothing, invalid: bad({ body: [] }) },
  delete_data: {
    about: [({ storedId }) => ({ body: { id: storedId } })],
    invalid: bad({ body: { id: '' } }),
  },
  delete_webhook: {
    about: [({ spareWebhookId }) => ({ params: { webhook_id: spareWebhookId } })],
    invalid: noId({ webhook_id: 'x' }),
  },
  delete_dataset: {
    about: [({ spareDatasetId }) => ({ params: { dataset_id: spareDatasetId } })],
    invalid: noId({ dataset_id: '..%2Fx' }),
  },
  delete_model: {
    about: [({ modelName }) => ({ params: { name: modelName } })],
    invalid: bad({ params: { name: base } }),
  },
}
