// One base tuned twice with different ranks, compared: through kill -9 of the model server and the worker, the result is the same.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { eventually } from '../support/eventually.ts'
import { livingServers } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Page = { rows: { outputs: { model: string; output: string; scores: object }[] }[]; next: number | null }

suite('an evaluation', async () => {
  const api = await openAccount()
  const base = connection().baseModel

  async function tune(r_value: number): Promise<string> {
    const id = await api.train({ data: sampleRows, finetune_args: { r_value, max_steps: 60 } })
    return (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail()
  }

  async function allRows(id: string) {
    const rows: Page['rows'] = []
    for (let offset: number | null = 0; offset !== null;) {
      const page: Page = await api.get(`/v1/evaluations/${id}/rows?offset=${offset}&limit=128`)
      rows.push(...page.rows)
      offset = page.next
    }
    return rows
  }

  test('gives the same answers and figures when model server and worker are killed in the middle', async () => {
    const models = [base, await tune(8), await tune(64)]
    const rows = sampleRows.flatMap(({ input, output }) =>
      Array.from({ length: 8 }, (_, index) => ({ input: `${input} (${index})`, output })),
    )
    await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'many', data: rows })
    const body = { models, dataset_id: 'many', graders: ['exact_match', 'f1', 'chrf'], max_tokens: 48 }
    const submit = async () => (await api.post<{ id: string }>('/v1/evaluations', body)).id

    const calm = await submit()
    const expected = await api.untilEvaluated(calm)
    assert.deepEqual([expected.status, expected.rows], ['COMPLETED', 320], expected.message ?? '')
    assert.equal(Object.keys(expected.comparison ?? {}).length, 2)

    const struck = await submit()
    const status = async () => (await api.get<{ status: string }>(`/v1/evaluations/${struck}`)).status
    await eventually(async () => (await status()) === 'RUNNING')
    process.kill(-(livingServers(base)[0] ?? assert.fail('no model server')), 'SIGKILL')
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    const scored = async () => (await allRows(struck)).some(({ outputs }) => outputs.length > 0)
    await eventually(scored)
    assert.equal(await status(), 'RUNNING', 'the second kill comes in the middle')
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    const result = await api.untilEvaluated(struck)
    assert.equal(result.status, 'COMPLETED', result.message ?? '')
    assert.deepEqual([result.summary, result.comparison], [expected.summary, expected.comparison])
    assert.deepEqual(await allRows(struck), await allRows(calm))
  })
})
