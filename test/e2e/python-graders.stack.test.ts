// Programs of users as graders of whole evaluations: the api refuses or accepts them, and the worker runs them.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { skip } from '../grading/python/support.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Run = { status: string; result_counts: { passed: number; failed: number; errored: number } }
type OutputItems = { data: { datasource_item_id: number; results: { score: number | null }[] }[] }

suite('an evaluation with a program as its grader', { skip }, async () => {
  const api = await openAccount()

  test('scores each item of an eval by itself, also beside one that ends its process', async () => {
    const source = 'import os\ndef grade(sample, item): return os._exit(1) if item["n"] == 2 else item["n"] / 4'
    const { id } = await api.post<{ id: string }>('/openai/v1/evals', {
      data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
      testing_criteria: [{ type: 'python', name: 'quarter', source }],
    })
    const content = Array.from({ length: 5 }, (_, n) => ({ item: { n }, sample: { output_text: `${n}` } }))
    const data_source = { type: 'jsonl', source: { type: 'file_content', content } }
    const path = `/openai/v1/evals/${id}/runs`
    const started = await api.post<{ id: string }>(path, { data_source })
    const run = await eventually(async () => {
      const found = await api.get<Run>(`${path}/${started.id}`)
      return !['queued', 'in_progress'].includes(found.status) && found
    })
    const { passed, failed, errored } = run.result_counts
    assert.deepEqual([run.status, passed, failed, errored], ['completed', 2, 2, 1])
    const { data } = await api.get<OutputItems>(`${path}/${started.id}/output_items?order=asc`)
    const scores = data.toSorted((a, b) => a.datasource_item_id - b.datasource_item_id)
    assert.deepEqual(
      scores.map(({ results }) => results[0]?.score),
      [0, 0.25, null, 0.75, 1],
    )
  })

  test('scores answers of a model by the rows that they answer', async () => {
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'rows', data: sampleRows.slice(0, 6) })
    const source =
      'def grade(sample, item): return len(item["input"]) > 0 and item["expected"] != sample["output_text"]'
    const graders = ['exact_match', { type: 'python', source }]
    const body = { models: [connection().baseModel], dataset_id: 'rows', graders, max_tokens: 4 }
    const { id } = await api.post<{ id: string }>('/v1/evaluations', body)
    const { status, message, summary } = await api.untilEvaluated(id)
    assert.equal(status, 'COMPLETED', message ?? '')
    assert.equal(summary?.[connection().baseModel]?.['python']?.mean, 1)
  })

  test('is refused as the reward of a job if it has no number for a row', async () => {
    const submit = (source: string, query = '') =>
      api.request('POST', `/v1/train${query}`, {
        model_name: connection().baseModel,
        data: [{ prompt: 'Who?', answer: 'Me.' }],
        method: { type: 'reinforcement', reinforcement: { grader: { type: 'python', name: 'p', source } } },
      })
    for (const query of ['', '?dry_run=true']) {
      const { status, body } = await submit('def grade(sample, item): return item["nothing"]', query)
      assert.equal(status, 400)
      assert.match(
        String((body as { detail: string }).detail),
        /^The Python grader has no number for line 1 of the data: .*KeyError/s,
      )
    }
    // It fails with a text that is no JSON, and not with every answer.
    const { status } = await submit(
      'import json\ndef grade(sample, item): return len(json.loads(sample["output_text"]))',
      '?dry_run=true',
    )
    assert.equal(status, 200)
  })
})
