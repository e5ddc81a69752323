import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { accountId, jobDetails, liveKey, startPublic, trainingJob } from './support.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import { openStatuses } from '../../src/domain/training-job-status.ts'
import type { TrackerRequest } from '../../src/domain/tracker.ts'
import { rowReader } from '../../src/domain/dataset-report.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import type { AcceptanceRequest } from '../../src/repositories/job-acceptance.ts'

const known = trainingJob({ id: 7 })
const find = (account: string, id: number) => Promise.resolve(account === accountId && id === 7 ? known : null)
const tracker: TrackerRequest = {
  ...{ type: 'mlflow', trackingUri: 'https://mlflow.example.com/', experiment: 'bot', runName: null },
  ...{ sealedAuthorization: 'sealed', serviceUrl: 'https://anneal.example.com' },
}
const step = { loss: 1.5, learning_rate: 0.001, epoch: 1, iter_time: 0.1, flops: 1e9, remaining_time: 3, step: 10 }

test('a single job has the documented fields, its history as JSON text', async () => {
  const args = { ...documentedDefaults, max_steps: 40 }
  const details = jobDetails({
    ...{
      args,
      givenArgs: ['max_steps'],
      gpus: 2,
      metadata: { team: 'a' },
      trackers: [tracker],
      trainRows: 40,
      checkedRows: 42,
      skipsBadRows: true,
      skippedRows: 2,
      estimatedTokens: 500,
      truncatedRows: 3,
      rowCounts: { rows: 40, tokens: 480, learned: 300, cut: 3, dropped: 0, withoutEnd: 1, isWhole: true },
    },
    ...{ startedAt: new Date('2026-11-20T10:00:05Z'), lastStep: step, trainingSeconds: 30 },
  })
  const edge = await startPublic({
    database: {
      trainingJobs: { find },
      jobDetails: { describe: () => Promise.resolve([details]) },
      trainingSteps: { since: () => Promise.resolve({ attempt: 1, keptStep: 0, steps: [step] }) },
    },
  })
  const { status, json } = await edge.call('GET', '/v1/train/jobs/7')
  assert.equal(status, 200)
  assert.deepEqual(json, {
    job_id: 7,
    status: 'TRAINING MODEL',
    start_time: '2026-11-20T10:00:00.123000',
    model_name: null,
    custom_model_name: null,
    requested_name: null,
    display_name: 'questions, run 2',
    resume_count: 2,
    dataset_id: 'questions',
    resume_limit: 1000,
    is_public: false,
    history: JSON.stringify([step]),
    status_reason: null,
    status_message: null,
    resumable: false,
    evaluation: null,
    warnings: [],
    base_model: 'tiny',
    finetune_args: { ...args, eval_steps: 10 },
    finetune_args_defaults: Object.keys(args).filter((name) => name !== 'max_steps'),
    method: {
      type: 'supervised',
      supervised: {
        hyperparameters: { n_epochs: 'auto', batch_size: 2, learning_rate_multiplier: 1, train_on: 'answers' },
      },
      defaulted: ['train_on'],
    },
    gpu_config: { gpus: 2, nodes: 1 },
    sent_by: { key_id: 'key-of-ann', name: 'Ann Lee', person: { subject: 'ann', mail: 'ann@example.com' } },
    created_at: '2026-11-20T10:00:00.123000',
    started_at: '2026-11-20T10:00:05.000000',
    finished_at: null,
    queue: null,
    progress: {
      step: 10,
      of: 40,
      percent: 25,
      tokens: null,
      tokens_per_second: null,
      remaining_seconds: step.remaining_time,
    },
    dataset: {
      ...{ id: 'questions', display_name: 'questions', rows: 42, train_rows: 40, truncated_rows: 3, tokens: 500 },
      counted: { rows: 40, tokens: 480, learned: 300, cut: 3, dropped: 0, without_end: 1, complete: true },
    },
    ...{ skip_bad_rows: true, skipped_rows: 2 },
    attempts: { count: 1, newest: null, training_seconds: 30, gpu_seconds: 60 },
    links: {
      self: '/v1/train/jobs/7',
      events: '/v1/train/jobs/7/events',
      logs: '/v1/train/jobs/7/logs',
      attempts: '/v1/train/jobs/7/attempts',
      metrics: '/v1/train/jobs/7/metrics',
      stream: '/v1/train/jobs/7/stream',
      evaluation: '/v1/train/jobs/7/eval',
      temporal_ui: null,
    },
    metadata: { team: 'a' },
    integrations: [{ type: 'mlflow', tracking_uri: tracker.trackingUri, experiment: 'bot', run_name: null }],
  })
})

test('only an admin of the account sees who a person is at the identity provider', async () => {
  const edge = await startPublic({
    database: {
      accounts: { findLiveApiKey: () => liveKey().then((key) => ({ ...key, scopes: ['read'] })) },
      trainingJobs: { find },
      trainingSteps: { since: () => Promise.resolve({ attempt: 1, keptStep: 0, steps: [] }) },
    },
  })
  const { json } = await edge.call('GET', '/v1/train/jobs/7')
  assert.deepEqual(json.sent_by, { key_id: 'key-of-ann', name: 'Ann Lee', person: null })
})

test('a job has its cost so far where the operator has set prices', async () => {
  const details = jobDetails({ gpus: 2, nodes: 3, trainingSeconds: 60 })
  const edge = await startPublic({
    database: {
      trainingJobs: { find },
      jobDetails: { describe: () => Promise.resolve([details]) },
      trainingSteps: { since: () => Promise.resolve({ attempt: 1, keptStep: 0, steps: [] }) },
    },
    settings: { prices: { currency: 'EUR', perGpuHour: 2, perTrainingHour: 0.6 } },
  })
  const { json } = await edge.call('GET', '/v1/train/jobs/7')
  assert.deepEqual(json.cost, { currency: 'EUR', micros: 200_000 + 10_000 })
})

test('a queued job has its place among all that wait for a slot', async () => {
  const queued = { status: 'QUEUED', statusReason: 'waits_for_slot', statusMessage: 'Waits.' } as const
  const edge = await startPublic({
    database: {
      trainingJobs: { list: () => Promise.resolve([8, 7, 6].map((id) => trainingJob({ id, ...queued }))) },
      jobDetails: {
        describe: (_account: string, ids: number[]) => Promise.resolve(ids.map((id) => jobDetails({ id, ...queued }))),
        waiting: () => Promise.resolve([3, 7, 8]),
      },
    },
  })
  const { json } = await edge.call('GET', '/v1/train/jobs')
  const why = { reason: 'waits_for_slot', message: 'Waits.' }
  assert.deepEqual(
    json.map((each: { queue: unknown }) => each.queue),
    [
      { place: 3, ahead: 2, ...why },
      { place: 2, ahead: 1, ...why },
      { place: null, ahead: null, ...why },
    ],
  )
})

test('the list says why each job waits or failed', async () => {
  const why = { status: 'FAILED', statusReason: 'data_error', statusMessage: 'The training data has no rows.' } as const
  const edge = await startPublic({
    database: {
      trainingJobs: { list: () => Promise.resolve([trainingJob(why)]) },
      jobDetails: { describe: () => Promise.resolve([jobDetails(why)]) },
    },
  })
  const [job] = (await edge.call('GET', '/v1/train/jobs')).json
  assert.deepEqual(
    [job.status_reason, job.status_message, job.base_model],
    ['data_error', 'The training data has no rows.', 'tiny'],
  )
})

test('a job warns that it has no held-out rows for what it was asked', async () => {
  const spec = { args: { ...documentedDefaults, keep: 'best' }, warnings: ['Told before.'] } as unknown as TrainingSpec
  const file = { key: 'k', sizeBytes: 1, sha256: '0', rowCount: 1 }
  const preparedData = {
    train: file,
    evaluation: { ...file, split: 'train' as const },
    sourceEtag: 'e',
    reader: rowReader,
  }
  const edge = await startPublic({
    database: {
      trainingJobs: { find: () => Promise.resolve(trainingJob({ spec, preparedData })) },
      trainingSteps: { since: () => Promise.resolve({ attempt: 1, keptStep: 0, steps: [] }) },
    },
  })
  const { warnings } = (await edge.call('GET', '/v1/train/jobs/7')).json
  assert.equal(warnings[0], 'Told before.')
  assert.match(warnings[1], /^This job has no held-out rows, so keep: "best"/)
})

test('refuses to resume a job that failed by data that is the same', async () => {
  const spec = { dataKey: 'k' } as TrainingSpec
  const failed = { status: 'FAILED', statusReason: 'data_error', spec } as const
  const badRowGroups = [{ field: 'output', reason: 'is missing', rowCount: 1, lines: [1] }]
  const report = {
    ...{ etag: 'one', reader: rowReader, rowCount: 1, badRowCount: 1, badRowGroups },
    ...{ unreadRest: null, unreadFields: [] },
  }
  let etag = 'one'
  const edge = await startPublic({
    storage: { stat: () => Promise.resolve({ etag, sizeBytes: 5 }) },
    database: {
      trainingJobs: {
        find: () => Promise.resolve(trainingJob(failed)),
        lock: () => Promise.resolve(trainingJob(failed)),
        resume: () => Promise.resolve(trainingJob({ generation: 2 })),
      },
      datasets: { report: () => Promise.resolve(report) },
      jobEvents: { add: () => Promise.resolve() },
      outbox: { add: () => Promise.resolve() },
    },
  })
  const refused = await edge.call('POST', '/v1/train/jobs/7/resume')
  assert.deepEqual([refused.status, refused.json.code], [409, 'conflict'])
  assert.match(refused.json.detail, /its data, which has not changed since/)
  etag = 'two'
  assert.equal((await edge.call('POST', '/v1/train/jobs/7/resume')).status, 200)
  etag = 'one'
  // A job that leaves out its bad rows failed by something else, such as a full account.
  Object.assign(spec, { skipBadRows: true })
  report.rowCount = 2
  assert.equal((await edge.call('POST', '/v1/train/jobs/7/resume')).status, 200)
})

test('the list is filtered by metadata, and its link keeps the filter', async () => {
  const seen: unknown[] = []
  const list = (_account: string, query: { metadata: unknown }) => {
    seen.push(query.metadata)
    return Promise.resolve([trainingJob()])
  }
  const edge = await startPublic({ database: { trainingJobs: { list } } })
  const { headers } = await edge.call('GET', '/v1/train/jobs?limit=1&metadata[team]=a&metadata[run]=7')
  assert.deepEqual(seen, [{ team: 'a', run: '7' }])
  assert.match(
    headers['link'] as string,
    /^<\/v1\/train\/jobs\?limit=1&metadata%5Bteam%5D=a&metadata%5Brun%5D=7&after=/,
  )
  for (const wrong of ['metadata[team]=a&metadata[team]=b', 'metadata=a', 'metadata[]=a']) {
    const { status, json } = await edge.call('GET', `/v1/train/jobs?${wrong}`)
    assert.equal(status, 400)
    assert.match(json.detail, /must be metadata\[key\]=value/)
  }
})

test('metrics come in pages, with every stored series', async () => {
  const stored = [10, 20, 30].map((at) => ({ step: at, loss: 1 / at, tokens: 2, 'rewards/margins': 3 }))
  const edge = await startPublic({
    database: {
      trainingJobs: { find: () => Promise.resolve(trainingJob()) },
      jobDetails: {
        metrics: (_job: number, { sinceStep, limit }: { sinceStep: number; limit: number }) =>
          Promise.resolve(stored.filter((row) => row.step > sinceStep).slice(0, limit)),
      },
    },
  })
  const page = async (query: string) => (await edge.call('GET', `/v1/train/jobs/7/metrics${query}`)).json
  const first = await page('?limit=2')
  assert.deepEqual([first.metrics.map((each: { step: number }) => each.step), first.next], [[10, 20], 20])
  assert.equal(first.metrics[0].valid_loss, null)
  // Those of the method are together, under their names in TRL.
  assert.deepEqual([first.metrics[0].tokens, first.metrics[0].series], [2, { 'rewards/margins': 3 }])
  const last = await page('?since_step=20')
  assert.deepEqual([last.metrics.map((each: { step: number }) => each.step), last.next], [[30], null])
})

test('custom_model_name is null while there is no model, then the given name or empty', async () => {
  const jobs = [
    trainingJob({ customModelName: 'mine' }),
    trainingJob({ customModelName: 'mine', modelName: 'a'.repeat(64) }),
    trainingJob({ modelName: 'a'.repeat(64) }),
  ]
  const edge = await startPublic({ database: { trainingJobs: { list: () => Promise.resolve(jobs) } } })
  const { json } = await edge.call('GET', '/v1/train/jobs')
  assert.deepEqual(
    json.map((each: Record<string, unknown>) => [each['custom_model_name'], each['requested_name']]),
    [
      [null, 'mine'],
      ['mine', 'mine'],
      ['', null],
    ],
  )
})

test('the list streams page after page as one array', async () => {
  const total = 1203
  const seen: unknown[] = []
  const list = (_account: string, query: { limit: number; after: number | null }) => {
    seen.push(query)
    const from = (query.after ?? total + 1) - 1
    return Promise.resolve(
      Array.from({ length: Math.min(query.limit, from) }, (_, at) => trainingJob({ id: from - at })),
    )
  }
  const edge = await startPublic({ database: { trainingJobs: { list } } })
  const { status, headers, json } = await edge.call('GET', '/v1/train/jobs')
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^application\/json/)
  assert.deepEqual(
    json.map((each: { job_id: number }) => each.job_id),
    Array.from({ length: total }, (_, at) => total - at),
  )
  assert.ok(seen.length >= 3)
  const limited = await edge.call('GET', '/v1/train/jobs?limit=2&status=CANCELED')
  assert.equal(limited.json.length, 2)
  assert.deepEqual(seen.at(-1), { limit: 2, after: null, status: 'CANCELLED', metadata: null })
})

test('an empty list is an empty array', async () => {
  const edge = await startPublic({ database: { trainingJobs: { list: () => Promise.resolve([]) } } })
  assert.equal((await edge.call('GET', '/v1/train/jobs')).text, '[]')
})

test('a list that fails in its middle is cut, not ended', async () => {
  let calls = 0
  const list = (_account: string, { limit }: { limit: number }) =>
    (calls += 1) === 1
      ? Promise.resolve(Array.from({ length: limit }, (_, at) => trainingJob({ id: 5000 - at })))
      : Promise.reject(new Error('gone'))
  const edge = await startPublic({ database: { trainingJobs: { list } } })
  await assert.rejects(edge.call('GET', '/v1/train/jobs'))
  assert.equal(calls, 2)
})

test('cancel takes a body or none, and repeats', async () => {
  const cancelled = trainingJob({ status: 'CANCELLED' })
  const edge = await startPublic({ database: { trainingJobs: { lock: () => Promise.resolve(cancelled) } } })
  for (const sent of [{}, { json: {} }, { json: { ignored: 1 } }]) {
    const { status, json } = await edge.call('POST', '/v1/train/jobs/7/cancel', sent)
    assert.deepEqual([status, json], [200, { message: 'cancelled 7', status: 'CANCELLED' }])
  }
})

test('refuses to cancel a finished job with 400 and a job of another account with 404', async () => {
  const lock = (_account: string, id: number) => Promise.resolve(id === 7 ? trainingJob({ status: 'COMPLETED' }) : null)
  const edge = await startPublic({ database: { trainingJobs: { lock } } })
  const { status, json } = await edge.call('POST', '/v1/train/jobs/7/cancel')
  assert.deepEqual([status, json.errors], [400, [{ path: 'job_id', message: json.detail }]])
  assert.equal((await edge.call('POST', '/v1/train/jobs/8/cancel')).status, 404)
})

test('resume answers the state and the id; a running job is 409', async () => {
  const states: Record<number, 'FAILED' | 'TRAINING MODEL'> = { 7: 'FAILED', 8: 'TRAINING MODEL' }
  const edge = await startPublic({
    database: {
      trainingJobs: {
        lock: (_account: string, id: number) => Promise.resolve(trainingJob({ id, status: states[id] ?? 'FAILED' })),
        find: (_account: string, id: number) => Promise.resolve(trainingJob({ id, status: states[id] ?? 'FAILED' })),
        resume: () => Promise.resolve(trainingJob({ generation: 2 })),
      },
      jobEvents: { add: () => Promise.resolve() },
      outbox: { add: () => Promise.resolve() },
    },
  })
  const resumed = await edge.call('POST', '/v1/train/jobs/7/resume', { json: {} })
  assert.deepEqual([resumed.status, resumed.json], [200, { status: 'QUEUED', job_id: 7 }])
  const running = await edge.call('POST', '/v1/train/jobs/8/resume')
  assert.deepEqual([running.status, running.json.code], [409, 'conflict'])
})

test('eval gives the tuned answer before the base answer, under every name of the route', async () => {
  const modelName = 'b'.repeat(64)
  const edge = await startPublic(
    {
      database: {
        trainingJobs: { find: () => Promise.resolve(trainingJob({ modelName })) },
        models: { find: () => Promise.resolve({ name: modelName, baseModel: 'tiny', artifactId: 'a' }) },
        artifacts: {
          listEvaluation: () =>
            Promise.resolve([{ split: 'train', input: 'q', expected: 'Rome', tuned: 'Rome', base: 'Oslo' }]),
        },
      },
    },
    { serviceName: 'acme' },
  )
  for (const prefix of ['/v1/svc', '/v1/acme', '/v1']) {
    const { status, json } = await edge.call('GET', `${prefix}/train/jobs/7/eval`)
    assert.equal(status, 200)
    assert.equal(json.job_id, 7)
    assert.deepEqual(json.eval_results, [
      {
        input: 'q',
        outputs: [
          { model_name: modelName, output: 'Rome', scores: { exact_match: 1, f1: 1 } },
          { model_name: 'tiny', output: 'Oslo', scores: { exact_match: 0, f1: 0 } },
        ],
        expected: 'Rome',
        split: 'train',
      },
    ])
  }
  assert.equal((await edge.call('GET', '/v1/lamini/train/jobs/7/eval')).status, 404)
})

test('jobs are also found under the name of the service, as the old pages write it', async () => {
  const { call } = await startPublic({
    database: { trainingJobs: { find: () => Promise.resolve(null), list: () => Promise.resolve([]) } },
  })
  assert.deepEqual((await call('GET', '/v1/lamini/train/jobs')).json, [])
  for (const [method, path] of [
    ['GET', '/v1/lamini/train/jobs/7'],
    ['GET', '/v1/svc/train/jobs/7'],
    ['GET', '/v1/lamini/train/jobs/7/eval'],
  ] as const) {
    const { status, json } = await call(method, path)
    assert.deepEqual([status, json.detail], [404, 'There is no training job 7.'], path)
  }
  assert.equal((await call('POST', '/v1/lamini/train', { json: {} })).status, 400)
  assert.equal((await call('POST', '/v1/lamini/train/jobs')).headers['allow'], 'GET, HEAD')
})

test('eval before the evaluation has ended is 409', async () => {
  const edge = await startPublic({ database: { trainingJobs: { find } } })
  assert.equal((await edge.call('GET', '/v1/svc/train/jobs/7/eval')).status, 409)
})

test('submit answers a text id, and passes the key of the request with a hash of its route and body', async () => {
  const taken: { key: string; hash: string }[] = []
  const edge = await startPublic({
    database: {
      datasets: {
        newestVersion: () => Promise.resolve({ id: 'v', datasetId: 'questions', uploadKey: 'k', wasSeen: false }),
        noteSize: (...noted: unknown[]) => Promise.resolve(assert.deepEqual(noted, ['v', 5])),
      },
      jobAcceptance: {
        accept: ({ job: { spec }, idempotency }: AcceptanceRequest) => {
          assert.deepEqual([spec.gpus, spec.nodes], [null, 1])
          assert.ok(idempotency)
          taken.push({ key: idempotency.key, hash: Buffer.from(idempotency.requestHash).toString('hex') })
          return Promise.resolve({ outcome: 'accepted', jobId: 7, datasetId: 'questions' })
        },
      },
      idempotencyKeys: { find: () => Promise.resolve(null) },
    },
    storage: { stat: () => Promise.resolve({ sizeBytes: 5 }) },
  })
  const headers = { 'idempotency-key': 'once' }
  const json = {
    model_name: 'small',
    dataset_id: 'questions',
    finetune_args: null,
    gpu_config: { gpus: 0, nodes: 0 },
    job_id: 3,
    status: 'COMPLETED',
  }
  for (const path of ['/v1/train', '/v1/precise_train']) {
    const { status, json: answer } = await edge.call('POST', path, { json, headers })
    const { warnings, ...accepted } = answer
    assert.deepEqual([status, accepted], [200, { job_id: '7', status: 'CREATED', dataset_id: 'questions' }])
    assert.equal(warnings.length, 2, 'job_id and status of a request mean nothing')
  }
  await edge.call('POST', '/v1/train', { json: { ...json, is_public: true }, headers })
  assert.equal(taken[0]?.key, 'once')
  assert.equal(taken[0]?.hash, taken[1]?.hash)
  assert.notEqual(taken[0]?.hash, taken[2]?.hash)
})

/** An edge that accepts every job. */
async function startAccepting(settings: Record<string, unknown> = {}) {
  const accepted: AcceptanceRequest['job'][] = []
  const newestVersion = () => Promise.resolve({ id: 'v', datasetId: 'questions', uploadKey: 'k', wasSeen: true })
  const accept = ({ job }: AcceptanceRequest) => {
    accepted.push(job)
    return Promise.resolve({ outcome: 'accepted', jobId: 7, datasetId: 'questions' })
  }
  const database = { datasets: { newestVersion }, jobAcceptance: { accept } }
  const edge = await startPublic({ settings, database, storage: { stat: () => Promise.resolve({ sizeBytes: 5 }) } })
  return { ...edge, accepted }
}

test('reports arguments without effect in the answer and in events', async () => {
  const { accepted, ...edge } = await startAccepting()
  const json = {
    ...{ model_name: 'small', dataset_id: 'questions', enable_peft: false, gpu_config: { max_gpus: 2, max_nodes: 1 } },
    train_type: 'memory_tuning',
    finetune_args: { learning_rte: 1, early_stopping: true, lora_alpha: 4 },
    peft_args: { r_value: 8, lora_alpha: 16, bias: 'all' },
  }
  const { json: answer } = await edge.call('POST', '/v1/train', { json })
  assert.deepEqual(answer.warnings, [
    'finetune_args["learning_rte"] is not known and has no effect. Did you mean learning_rate?',
    'peft_args.bias: no effect here.',
    'peft_args.lora_alpha has no effect, because finetune_args has another one.',
    'enable_peft: false has no effect: an adapter is trained in any case.',
    'train_type: memory_tuning has no effect: an adapter is trained in any case.',
  ])
  const [{ notes, spec } = assert.fail()] = accepted
  assert.deepEqual(
    notes.map(({ message }) => message),
    answer.warnings,
  )
  assert.deepEqual([spec.args.r_value, spec.args.lora_alpha, spec.gpus], [8, 4, 2])
  assert.deepEqual(spec.args.early_stopping, { patience: 3, min_delta: 0 })
})

test('a job that ends while it is read has the time of its end', async () => {
  const [jobs, finishedAt] = [['TRAINING MODEL', 'COMPLETED'] as const, new Date()]
  let reads = 0
  const { call } = await startPublic({
    database: {
      trainingJobs: { find: () => Promise.resolve(trainingJob({ id: 7, status: 'COMPLETED' })) },
      trainingSteps: { since: () => Promise.resolve({ attempt: 1, keptStep: 0, steps: [] }) },
      jobDetails: {
        describe: () => {
          const status = jobs[reads++] ?? assert.fail()
          return Promise.resolve([
            jobDetails({ id: 7, status, finishedAt: status === 'COMPLETED' ? finishedAt : null }),
          ])
        },
      },
    },
  })
  const { json } = await call('GET', '/v1/train/jobs/7')
  assert.deepEqual([json.status, json.finished_at !== null, reads], ['COMPLETED', true, 2])
})

test('refuses an unknown kind of training', async () => {
  const { call } = await startPublic({})
  const json = { model_name: 'small', dataset_id: 'questions', train_type: 'dpo' }
  const { status, json: refused } = await call('POST', '/v1/train', { json })
  const says = 'train_type must be one of "memory_tuning", "memory_rag", "mome_mini".'
  assert.deepEqual([status, refused.detail], [400, says])
})

test('accepts a single GPU on a machine without GPUs, with a warning, and refuses two', async () => {
  const { accepted, call } = await startAccepting({ maxGpus: 0 })
  const submit = (gpus: number) =>
    call('POST', '/v1/train', { json: { model_name: 'tiny', dataset_id: 'questions', gpu_config: { gpus, nodes: 1 } } })
  assert.match((await submit(1)).json.warnings.join(), /^There is no GPU here/)
  assert.equal(accepted[0]?.spec.gpus, null)
  assert.match((await submit(2)).json.detail, /gpu_config\.gpus may be at most 0 here/)
})

const place = { urlPrefix: 'http://store/anneal/', bucket: 'anneal' }

test('a submit without data of its own account is 400 before anything is written', async () => {
  const edge = await startPublic({
    database: {
      datasets: { newestVersion: () => Promise.resolve(null) },
    },
    storage: place,
  })
  const foreign = ['file:///etc/passwd', 'http://169.254.169.254/latest', 's3://other/x', '../x']
  for (const body of [
    ...foreign.map((upload_file_path) => ({ upload_file_path })),
    { dataset_id: 'unknown' },
    { data: [] },
    {},
    { dataset_id: 'questions', gpu_config: { gpus: 1000 } },
    { dataset_id: 'questions', gpu_config: { nodes: 2 } },
  ]) {
    const { status, json } = await edge.call('POST', '/v1/train', { json: { model_name: 'tiny', ...body } })
    assert.deepEqual([status, json.code], [400, 'invalid_input'], JSON.stringify(body))
  }
})

test('a submit on an upload URL that nothing was uploaded to is 400 and says so', async () => {
  const edge = await startPublic({
    database: {
      jobAcceptance: { accept: () => Promise.resolve({ outcome: 'unseen', jobId: null, datasetId: 'questions' }) },
    },
    storage: { ...place, stat: () => Promise.resolve(null) },
  })
  const path = `s3://anneal/uploads/${accountId}/questions/22222222-2222-4222-8222-222222222222`
  const { status, json } = await edge.call('POST', '/v1/train', {
    json: { model_name: 'tiny', upload_file_path: path },
  })
  assert.equal(status, 400)
  assert.match(json.detail, /Nothing was uploaded/)
})

test('an unknown base model is 404 naming it, 594 to an old client', async () => {
  const edge = await startPublic({ database: { models: { find: () => Promise.resolve(null) } } })
  const sent = { json: { model_name: 'nope', dataset_id: 'questions' } }
  const modern = await edge.call('POST', '/v1/train', sent)
  assert.deepEqual([modern.status, modern.json.code], [404, 'model_not_found'])
  assert.match(modern.json.detail, /nope/)
  const old = await edge.call('POST', '/v1/train', { ...sent, headers: { 'Lamini-Version': '2.5.3' } })
  assert.deepEqual([old.status, old.json.detail], [594, modern.json.detail])
})

test('logs, events and attempts are paged; an attempt tells its steps, and what it cost', async () => {
  const later = (seconds: number) => new Date(known.createdAt.getTime() + seconds * 1000)
  const asked: unknown[] = []
  const attempt = {
    number: 2,
    mode: 'train',
    phase: 'TRAINING MODEL',
    cause: 'killed',
    exitCode: 137,
    message: null,
    fromStep: 20,
    lastStep: 40,
    savedStep: 45,
    createdAt: known.createdAt,
    grantedAt: known.createdAt,
    claimedAt: known.createdAt,
    workingAt: later(10),
    savedAt: later(60),
    endedAt: later(100),
    releasedAt: later(100),
  }
  const event = {
    id: '4',
    at: known.createdAt,
    kind: 'status',
    status: 'CREATED',
    attempt: null,
    reason: null,
    message: null,
    actor: 'key:a',
  }
  const edge = await startPublic({
    database: {
      trainingJobs: {
        find: () => Promise.resolve(trainingJob({ currentAttempt: 2, spec: { gpus: 2, nodes: 1 } as TrainingSpec })),
      },
      attempts: {
        list: (_id: number, query: unknown) => {
          asked.push(query)
          return Promise.resolve([attempt])
        },
        repeatedFrom: () => Promise.resolve(new Map()),
      },
      jobEvents: { list: (_id: number, { limit }: { limit: number }) => Promise.resolve([event].slice(0, limit)) },
      apiKeys: { names: (ids: string[]) => Promise.resolve(new Map(ids.map((id) => [id, `key ${id}`]))) },
    },
    storage: { readRange: () => Promise.resolve({ bytes: Buffer.from('hé'), sizeBytes: 10 }) },
  })
  const log = await edge.call('GET', '/v1/train/jobs/7/logs?offset=4&limit=100')
  assert.deepEqual(log.json, { attempt: 2, text: 'hé', next_offset: 7, complete: false })
  const events = await edge.call('GET', '/v1/train/jobs/7/events?limit=1')
  assert.deepEqual(events.json, {
    events: [{ ...event, at: '2026-11-20T10:00:00.123000', actor_name: 'key a' }],
    next: '4',
  })
  assert.equal(events.headers['link'], '</v1/train/jobs/7/events?limit=1&after=4>; rel="next"')
  const attempts = await edge.call('GET', '/v1/train/jobs/7/attempts')
  assert.deepEqual([attempts.json.next, attempts.headers['link']], [null, undefined])
  assert.deepEqual(attempts.json.attempts, [
    {
      attempt: 2,
      mode: 'train',
      phase: 'TRAINING MODEL',
      cause: 'killed',
      exit_code: 137,
      message: null,
      from_step: 20,
      first_step: 21,
      last_step: 45,
      last_checkpoint_step: 45,
      created_at: '2026-11-20T10:00:00.123000',
      granted_at: '2026-11-20T10:00:00.123000',
      claimed_at: '2026-11-20T10:00:00.123000',
      ended_at: '2026-11-20T10:01:40.123000',
      gpu_count: 2,
      training_seconds: { allocated: 100, productive: 50, lost: 50 },
      gpu_seconds: { allocated: 200, productive: 100, lost: 100 },
    },
  ])
  const page = await edge.call('GET', '/v1/train/jobs/7/attempts?limit=1')
  assert.deepEqual(
    [page.json.next, page.headers['link']],
    [2, '</v1/train/jobs/7/attempts?limit=1&after=2>; rel="next"'],
  )
  for (const name of ['after', 'before']) {
    await edge.call('GET', `/v1/train/jobs/7/attempts?${name}=2`)
    assert.deepEqual(asked.at(-1), { before: 2, limit: 100 })
  }
})

suite('a dry run', () => {
  const report = {
    ...{
      etag: 'e',
      sizeBytes: 9,
      rowCount: 40,
      badRowCount: 0,
      badRowGroups: [],
      unreadFields: [],
      unreadRest: null,
      duplicateCount: 0,
      emptyOutputCount: 0,
    },
    reader: rowReader,
    tokenLength: {
      ...{ tokenizer: 'tiny', sampledRows: 30, estimatedTotal: 500 },
      estimatedLearned: { answers: 300, lastAnswer: 200 },
    },
  }
  const past = { seconds: 30, steps: 100, rowsPerStep: 2, secondsPerStep: 0.2, tokensPerRow: 12.5 }
  const edgeWith = (pastJobs: unknown[], changes: object = {}) =>
    startPublic({
      database: {
        datasets: {
          newestVersion: () => Promise.resolve({ id: 'v', uploadKey: 'k', datasetId: 'questions' }),
          report: () => Promise.resolve({ ...report, ...changes }),
          columns: () => Promise.resolve(null),
        },
        jobDetails: { pastJobs: () => Promise.resolve(pastJobs) },
      },
      storage: { stat: () => Promise.resolve({ sizeBytes: 9, etag: 'e' }) },
    })
  const json = {
    model_name: 'tiny',
    dataset_id: 'questions',
    finetune_args: { max_steps: 200 },
    gpu_config: { gpus: 2 },
  }

  test('tells steps, epochs and a range of seconds from complete jobs, and creates nothing', async () => {
    const edge = await edgeWith([past])
    const { status, json: answer } = await edge.call('POST', '/v1/train?dry_run=true', { json })
    assert.equal(status, 200)
    const { note: _note, ...told } = answer
    const odd = { ...json, finetune_args: { max_steps: 200, steps: 9 } }
    const { json: warned } = await edge.call('POST', '/v1/train?dry_run=true', { json: odd })
    assert.match(warned.warnings.join(), /Did you mean max_steps\?$/)
    assert.deepEqual(told, {
      ...{ dry_run: true, rows: 40, tokens: 500, learned_tokens: 300, counted_rows: 30 },
      ...{ memory_gib: null, fits: null, advice: [] },
      ...{ steps: 200, epochs: 10, based_on: 1 },
      estimated_seconds: { low: 24.2, likely: 50, high: 103.1 },
      estimated_gpu_seconds: { low: 48.4, likely: 100, high: 206.2 },
    })
  })

  test('counts the learned tokens by what the method learns, and not from a check of an older release', async () => {
    const learned = async (trainOn: string, changes: object = {}) => {
      const method = { type: 'supervised', supervised: { hyperparameters: { train_on: trainOn } } }
      const edge = await edgeWith([], changes)
      return (await edge.call('POST', '/v1/train?dry_run=true', { json: { ...json, method } })).json.learned_tokens
    }
    assert.deepEqual([await learned('last_answer'), await learned('everything')], [200, 500])
    const { estimatedLearned: _learned, ...older } = report.tokenLength
    assert.equal(await learned('answers', { tokenLength: older }), null)
  })

  test('tells that no job has completed yet, and refuses the same requests as a job', async () => {
    const { json: first } = await (await edgeWith([])).call('POST', '/v1/train?dry_run=true', { json })
    assert.deepEqual([first.estimated_seconds, first.estimated_gpu_seconds, first.based_on], [null, null, 0])
    assert.match(first.note, /^No similar job \(same base model/)
    const bad = await edgeWith([], {
      badRowCount: 1,
      badRowGroups: [{ field: 'output', reason: 'is missing', rowCount: 1, lines: [3] }],
    })
    const refused = await bad.call('POST', '/v1/train?dry_run=true', { json })
    assert.equal(refused.status, 400)
    assert.match(refused.json.detail, /line 3: output: is missing/)
    const { status } = await bad.call('POST', '/v1/train?dry_run=maybe', { json })
    assert.equal(status, 400)
  })
})

const figures = {
  ...{ customModelName: 'bot', modelName: null, resumeCount: 0, keyId: 'k1', fileName: 'products.csv' },
  ...{ losses: [3.14159, 2], validLoss: 0.123456 },
}

async function startBriefs() {
  const asked: { after: number | null }[] = []
  const edge = await startPublic({
    database: {
      jobBriefs: {
        find: (_account: string, page: { after: number | null }) => {
          asked.push(page)
          return Promise.resolve({ ids: [7, 5], next: 5 })
        },
        figures: (_account: string, ids: number[]) => Promise.resolve(ids.map((id) => ({ id, ...figures }))),
      },
    },
  })
  return { edge, asked }
}

test('a brief has what a row of a list shows, and no arguments', async () => {
  const { edge, asked } = await startBriefs()
  const query = 'status=open,FAILED&base_model=tiny&from=2026-11-01&to=2026-11-02&q=Bot&limit=2'
  const { status, json } = await edge.call('GET', `/v1/train/jobs/briefs?${query}`)
  assert.equal(status, 200)
  assert.deepEqual(
    json.jobs.map(({ job_id: id }: { job_id: number }) => id),
    [7, 5],
  )
  const [{ losses, valid_loss, dataset_file, requested_name, finetune_args }] = json.jobs
  assert.deepEqual([losses, valid_loss, dataset_file, requested_name], [[3.142, 2], 0.1235, 'products.csv', 'bot'])
  assert.equal(finetune_args, undefined)
  assert.deepEqual(asked, [
    {
      limit: 2,
      after: null,
      filter: {
        statuses: [...openStatuses, 'FAILED'],
        baseModel: 'tiny',
        datasetId: undefined,
        keyId: undefined,
        from: new Date('2026-11-01T00:00:00Z'),
        to: new Date('2026-11-03T00:00:00Z'),
        text: 'Bot',
      },
    },
  ])
  await edge.call('GET', `/v1/train/jobs/briefs?after=${json.next}`)
  assert.equal(asked[1]?.after, 5)
})

test('a client that has the newest briefs gets 304', async () => {
  const { edge } = await startBriefs()
  const path = '/v1/train/jobs/briefs?job_ids=7,5'
  const { headers } = await edge.call('GET', path)
  const again = await edge.call('GET', path, { headers: { 'if-none-match': headers.etag ?? '' } })
  assert.deepEqual([again.status, again.text], [304, ''])
})

test('refuses filters of briefs that it does not know, and says which', async () => {
  const { edge } = await startBriefs()
  for (const [query, path] of [
    ['status=open,DONE', 'status'],
    ['state=open', 'state'],
    ['job_ids=1,x', 'job_ids'],
    ['job_ids=1&limit=2', 'limit'],
    ['from=yesterday', 'from'],
    ['limit=0', 'limit'],
  ]) {
    const { status, json } = await edge.call('GET', `/v1/train/jobs/briefs?${query}`)
    assert.deepEqual([status, json.errors[0].path], [400, path], query)
  }
})
