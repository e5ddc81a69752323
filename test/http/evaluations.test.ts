// Evaluations over HTTP: the scores of a job's own, and graders that are refused before anything is stored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPublic } from './support.ts'

const rows = [
  { split: 'held_out', input: 'Where?', expected: 'In Rome', tuned: 'In Rome.', base: 'Oslo' },
  { split: 'held_out', input: 'Who?', expected: 'Ann', tuned: 'Bob', base: 'Bob' },
]
const model = { name: 'f'.repeat(64), baseModel: 'tiny', artifactId: 'a' }

test('the evaluation of a job has scores for each output and a summary', async () => {
  const job = { id: 7, modelName: model.name, spec: { evaluation: { graders: [{ type: 'f1', name: 'words' }] } } }
  const edge = await startPublic({
    database: {
      trainingJobs: { find: () => Promise.resolve(job) },
      models: { find: () => Promise.resolve(model) },
      artifacts: { listEvaluation: () => Promise.resolve(rows) },
    },
  })
  const { status, json } = await edge.call('GET', '/v1/train/jobs/7/eval')
  assert.equal(status, 200, JSON.stringify(json))
  const { eval_results, graders, summary } = json as unknown as {
    eval_results: { outputs: { output: string; scores: object }[]; split: string }[]
    graders: object[]
    summary: Record<string, { better: number; equal: number; worse: number; tuned: object; difference: object }>
  }
  assert.deepEqual(graders, [{ type: 'f1', name: 'words' }])
  assert.deepEqual(eval_results[0]?.outputs, [
    { model_name: model.name, output: 'In Rome.', scores: { words: 1 } },
    { model_name: 'tiny', output: 'Oslo', scores: { words: 0 } },
  ])
  const { better, equal, worse, tuned } = summary['words'] ?? assert.fail()
  assert.deepEqual([better, equal, worse], [1, 1, 0])
  assert.deepEqual(tuned, { mean: 0.5, low: 0, high: 1, rows: 2 })
})

test('graders that cannot be used are refused with their place', async () => {
  const edge = await startPublic()
  const refusal = async (path: string, json: object) => {
    const received = await edge.call('POST', path, { json })
    assert.equal(received.status, 400, received.text)
    return (received.json as { detail: string }).detail
  }
  const evaluate = (graders: unknown) => refusal('/v1/evaluations', { models: ['tiny'], dataset_id: 'set', graders })
  assert.match(await evaluate([{ type: 'f1', tolerance: 1 }]), /graders/)
  assert.match(await evaluate([{ type: 'regex', pattern: '(' }]), /The regex grader cannot be used/)
  const schema = { description: 'a'.repeat(65_536) }
  assert.match(await evaluate([{ type: 'json_schema', schema }]), /graders must not be longer than 65536 characters/)
  const evaluation = { graders: [{ type: 'model', model: 'tiny' }] }
  assert.match(
    await refusal('/v1/train', { model_name: 'tiny', dataset_id: 'set', evaluation }),
    /The grader model asks a model\. After the training, use it with POST \/v1\/evaluations/,
  )
})

test('a page of the list has at most 20 evaluations', async () => {
  const edge = await startPublic({
    database: { modelEvaluations: { list: () => Promise.resolve({ rows: [], hasMore: false }) } },
  })
  assert.equal((await edge.call('GET', '/v1/evaluations?limit=20')).status, 200)
  assert.equal((await edge.call('GET', '/v1/evaluations?limit=21')).status, 400)
})

test('an evaluation that waits says why in its message, and a failed one why it failed', async () => {
  const id = '22222222-2222-4222-8222-222222222222'
  const at = new Date('2026-11-20T03:20:00Z')
  const request = { models: [{ name: 'tiny', modelName: 'tiny' }], graders: null, maxTokens: 1 }
  const nothing = { rowsKey: null, rowCount: null, plan: null, summary: null, evalId: null, dataKey: 'd' }
  const queued = { id, ...nothing, request, datasetId: 'd', maxRows: 1, status: 'QUEUED', message: null, createdAt: at }
  const edge = await startPublic({
    database: {
      modelEvaluations: {
        find: () => Promise.resolve({ ...queued, grantedAt: null, finishedAt: null }),
        list: () =>
          Promise.resolve({
            rows: [{ ...queued, status: 'FAILED', message: 'No model.', grantedAt: at, finishedAt: at }],
            hasMore: false,
          }),
      },
      installation: { maintenance: () => Promise.resolve({ since: at, message: '' }) },
    },
  })
  const { json } = await edge.call('GET', `/v1/evaluations/${id}`)
  assert.equal(json.status_reason, 'maintenance')
  assert.match(json.message, /The evaluation starts once new work goes on\.$/)
  const { json: page } = await edge.call('GET', '/v1/evaluations')
  assert.deepEqual([page.evaluations[0].status_reason, page.evaluations[0].message], [null, 'No model.'])
})
