// Requests for something that the service does not know, cannot do or will not do. Each is refused or told; none is silent.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { AcceptanceRequest } from '../../src/repositories/job-acceptance.ts'
import { startPublic } from './support.ts'

/** Bodies of POST /v1/train, and what the warning says. Scripts of the old platform send such names, so none is refused. */
const told: [sent: object, warning: RegExp][] = [
  [{ finetune_args: { epochs: 3 } }, /"epochs".* has no effect\. Did you mean num_train_epochs\?/],
  [{ finetune_args: { lr: 1e-4 } }, /Did you mean learning_rate\?/],
  [{ finetune_args: { max_step: 10 } }, /Did you mean max_steps\?/],
  [{ finetune_args: { learning_rte: 1 } }, /Did you mean learning_rate\?/],
  [{ finetune_args: { per_device_train_batch_size: 8 } }, /Did you mean batch_size\?/],
  [{ finetune_args: { report_to: 'none' } }, /"report_to".* is not known and has no effect/],
  [{ finetune_args: { index_method: 'IndexFlatL2' } }, /index_method: no effect here/],
  [{ finetune_args: { temperature: 0.5 } }, /temperature: no effect here/],
  [{ finetune_args: { optim: 'lion_8bit' } }, /optim lion_8bit is not available here, so adafactor is used/],
  [{ finetune_args: { optim: 'paged_adamw_8bit' } }, /so adamw_torch is used/],
  [{ finetune_args: { lr_scheduler_type: 'reduce_lr_on_plateau' } }, /so linear is used/],
  [{ finetune_args: { learning_rate: 0.5 } }, /556 times above the 0\.0009 that is recommended for tiny/],
  [{ finetune_args: { learning_rate: 1e-7 } }, /9000 times below .* may learn nothing/],
  [{ finetune_args: { max_steps: 10, num_train_epochs: 2 } }, /max_steps 10 has no effect/],
  [{ finetune_args: { warmup_steps: 5, lr_scheduler_type: 'constant' } }, /warmup_steps 5 has no effect/],
  [{ finetune_args: { save_steps: 0.1, num_train_epochs: 2 } }, /save_steps 0\.1 is a share/],
  [{ finetune_args: { early_stopping: { patience: 2, min_delt: 1 } } }, /early_stopping.*Did you mean min_delta\?/],
  [{ finetune_args: { keep: 'last', load_best_model_at_end: true } }, /load_best_model_at_end has no effect/],
  [{ finetune_args: { max_length: 4096 } }, /max_length 4096 was cut/],
  [{ max_steps: 10 }, /^"max_steps" .*Did you mean finetune_args\.max_steps\?/],
  [{ gpus: 1 }, /Did you mean gpu_config\.gpus\?/],
  [{ custom_modelname: 'pip' }, /Did you mean custom_model_name\?/],
  [{ use_cached_model: true }, /use_cached_model: no effect here/],
  [{ gpu_config: { gpu: 2 } }, /gpu_config\["gpu"\].*Did you mean gpus\?/],
  [{ gpu_config: { gpus: 2, max_gpus: 4 } }, /gpu_config\.max_gpus has no effect/],
  [{ evaluation: { max_row: 5 } }, /evaluation\["max_row"\].*Did you mean max_rows\?/],
  [{ peft_args: { bias: 'all' } }, /peft_args\.bias: no effect here/],
  [{ peft_args: { r_value: 4 }, finetune_args: { r_value: 8 } }, /peft_args\.r_value has no effect/],
  [{ enable_peft: false }, /enable_peft: false has no effect/],
  [{ train_type: 'memory_rag' }, /train_type: memory_rag has no effect/],
  [{ is_public: true }, /is_public: true has no effect/],
  [{ custom_model_name: 'pip@2' }, /Requests cannot name the model "pip@2"/],
  [{ custom_model_name: 'small' }, /that name means a base model/],
]

/** Bodies of POST /v1/train that cannot be carried out. */
const impossible: [sent: object, detail: RegExp][] = [
  [{ gpu_config: { gpus: 1000 } }, /gpu_config\.gpus may be at most 8 here/],
  [{ gpu_config: { nodes: 99 } }, /gpu_config\.nodes may be at most 1 here/],
  [{ finetune_args: { max_steps: 0 } }, /finetune_args\.max_steps must be at least 1/],
  [{ finetune_args: { max_steps: 'many' } }, /finetune_args\.max_steps must be a/],
  [{ finetune_args: { learning_rate: -1 } }, /finetune_args\.learning_rate/],
  [{ finetune_args: { r_value: 1024 } }, /r_value must be at most 64 for tiny/],
  [{ finetune_args: { lr_scheduler_type: 'fast' } }, /lr_scheduler_type must be one of/],
  [{ train_type: 'dpo' }, /train_type must be one of/],
  [{ upload_file_path: 'file:///etc/passwd' }, /upload_file_path must be the dataset_location/],
  [{ metadata: { team: 7 } }, /metadata\.team must be a string/],
]

const unknown = / is not a known parameter/
/** Other requests, each 400. */
const refused: [method: 'GET' | 'POST', path: string, json: object | undefined, detail: RegExp][] = [
  ['GET', '/v1/train/jobs?state=COMPLETED', undefined, /the list takes limit, after, status and metadata\[key\]/],
  [
    'POST',
    '/v1/train?preview=1',
    { model_name: 'tiny', dataset_id: 'questions' },
    /preview must be one of "true", "false"/,
  ],
  ['POST', '/v1/train?preview=true', { model_name: 'tiny', dry_run: true }, /dry_run or preview, not both/],
  ['GET', '/v1/data/questions/rows?train_on=everything', undefined, /train_on and max_length are for tokens=true/],
  ['GET', '/v1/data/questions/rows?tokens=true&limit=21', undefined, /limit must be at most 20 with tokens=true/],
  ['GET', '/v1/train/jobs?metadata=team', undefined, /must be metadata\[key\]=value/],
  ['GET', '/v1/train/jobs?status=DONE', undefined, /status must be one of CREATED/],
  ['GET', '/v1/train/jobs/7/events?kind=note', undefined, unknown],
  ['GET', '/v1/train/jobs/7/attempts?cause=killed', undefined, unknown],
  ['GET', '/v1/train/jobs/7/metrics?from=10', undefined, unknown],
  ['GET', '/v1/models?owner=me', undefined, unknown],
  ['GET', '/v1/data?name=products', undefined, unknown],
  ['GET', '/v1/audit?action=job.submit', undefined, unknown],
  ['GET', '/v1/usage?by=day', undefined, unknown],
  ['GET', '/v1/keys?revoked=true', undefined, unknown],
  ['GET', '/v1/evaluations?model=pip', undefined, unknown],
  ['GET', '/openai/v1/fine_tuning/jobs?status=failed', undefined, unknown],
  ['POST', '/openai/v1/chat/completions', { model: 'tiny', messages: [], temprature: 0 }, /temprature/],
  [
    'POST',
    '/openai/v1/fine_tuning/jobs',
    { model: 'tiny', training_file: 'file-1', hyperparameters: { epochs: 3 } },
    /epochs/,
  ],
]

suite('nothing that was asked for vanishes', async () => {
  const accepted: AcceptanceRequest['job'][] = []
  const edge = await startPublic({
    storage: { stat: () => Promise.resolve({ sizeBytes: 5 }), urlPrefix: 'http://store/anneal/', bucket: 'anneal' },
    database: {
      datasets: {
        newestVersion: () => Promise.resolve({ id: 'v', datasetId: 'questions', uploadKey: 'k', wasSeen: true }),
      },
      jobAcceptance: {
        accept({ job }: AcceptanceRequest) {
          accepted.push(job)
          return Promise.resolve({ outcome: 'accepted', jobId: 7, datasetId: 'questions' })
        },
      },
    },
  })
  const train = (sent: object, query = '') =>
    edge.call('POST', `/v1/train${query}`, { json: { model_name: 'tiny', dataset_id: 'questions', ...sent } })

  test('a usual request has no warning', async () => {
    const { json } = await train({ finetune_args: { max_steps: 20, learning_rate: 3e-4, optim: 'adamw_torch' } })
    assert.deepEqual(json, { job_id: '7', status: 'CREATED', dataset_id: 'questions' })
  })

  for (const [sent, warning] of told)
    test(`warns of ${JSON.stringify(sent)} in the answer, in the job and in an event`, async () => {
      const { status, json } = await train(sent)
      assert.equal(status, 200)
      assert.equal(json.warnings?.length, 1, JSON.stringify(json))
      assert.match(json.warnings[0], warning)
      const job = accepted.at(-1)
      assert.deepEqual([job?.spec.warnings, job?.notes.map(({ message }) => message)], [json.warnings, json.warnings])
    })

  test('warns of a parameter of the query', async () => {
    const { json } = await train({}, '?dry-run=true')
    assert.match(json.warnings.join(), /^the query\["dry-run"\].*Did you mean dry_run\?$/)
  })

  for (const [sent, detail] of impossible)
    test(`refuses ${JSON.stringify(sent)}`, async () => {
      const { status, json } = await train(sent)
      assert.equal(status, 400, JSON.stringify(json))
      assert.match(json.detail, detail)
    })

  for (const [method, path, json, detail] of refused)
    test(`refuses ${method} ${path}`, async () => {
      const answer = await edge.call(method, path, json === undefined ? {} : { json })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.json.detail ?? answer.json.error.message, detail)
    })
})
