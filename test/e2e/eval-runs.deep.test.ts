// Through kill -9 of the worker in its middle, a run of an eval has the same result as an undisturbed one.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { eventually } from '../support/eventually.ts'
import { connection, openAccount } from '../support/stack.ts'

type Run = { id: string; status: string; result_counts: { total: number; errored: number }; per_model_usage: object[] }
type Item = { id: string; run_id: string; datasource_item_id: number }
type Page = { data: Item[]; has_more: boolean; last_id: string }

suite('a run of an eval', async () => {
  const api = await openAccount()
  const model = connection().baseModel
  const judge = { model, input: [{ role: 'user', content: 'Is this right: {{sample.output_text}}?' }] }
  const { id: evalId } = await api.post<{ id: string }>('/openai/v1/evals', {
    data_source_config: { type: 'custom', item_schema: { type: 'object' }, include_sample_schema: true },
    testing_criteria: [
      { type: 'string_check', name: 'a', operation: 'ilike', input: '{{sample.output_text}}', reference: 'a' },
      { type: 'label_model', name: 'label', ...judge, labels: ['yes', 'no'], passing_labels: ['yes'] },
    ],
  })
  const runs = `/openai/v1/evals/${evalId}/runs`
  const body = {
    data_source: {
      type: 'completions',
      model,
      source: {
        type: 'file_content',
        content: Array.from({ length: 300 }, (_, index) => ({ item: { question: `Question ${index}?` } })),
      },
      input_messages: { type: 'template', template: [{ role: 'user', content: '{{item.question}}' }] },
      sampling_params: { temperature: 0, max_completion_tokens: 24 },
    },
  }
  const start = async () => (await api.post<Run>(runs, body)).id
  const look = (id: string) => api.get<Run>(`${runs}/${id}`)

  async function ended(id: string): Promise<Run> {
    let run = await look(id)
    await eventually(async () => !['queued', 'in_progress'].includes((run = await look(id)).status))
    return run
  }

  async function itemsOf(id: string): Promise<Item[]> {
    const items: Item[] = []
    for (let after = ''; ;) {
      const page = await api.get<Page>(`${runs}/${id}/output_items?limit=100${after}`)
      items.push(...page.data)
      if (!page.has_more) return items
      after = `&after=${page.last_id}`
    }
  }
  const withoutIds = (items: Item[]) => items.map(({ id: _id, run_id: _run, ...item }) => ({ ...item, created_at: 0 }))

  test('gives the same items and figures when the worker is killed in the middle', async () => {
    const calm = await start()
    const expected = await ended(calm)
    assert.deepEqual(
      [expected.status, expected.result_counts.total, expected.result_counts.errored],
      ['completed', 300, 0],
    )

    const struck = await start()
    await eventually(async () => (await look(struck)).status === 'in_progress')
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    await eventually(async () => (await itemsOf(struck)).length > 0)
    assert.equal((await look(struck)).status, 'in_progress', 'the second kill comes in the middle')
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    const result = await ended(struck)
    const figures = ({ id: _id, ...run }: Run) => ({ ...run, created_at: 0 })
    assert.deepEqual(figures(result), figures(expected))
    const items = await itemsOf(struck)
    assert.deepEqual(
      items.map((item) => item.datasource_item_id),
      Array.from({ length: 300 }, (_, index) => index),
    )
    assert.deepEqual(withoutIds(items), withoutIds(await itemsOf(calm)))
  })
})
