// Batches of whole requests under /openai/v1/batches: each line once, whatever is killed meanwhile.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { livingServers } from '../support/processes.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

type Batch = {
  id: string
  status: string
  output_file_id: string | null
  error_file_id: string | null
  request_counts: { total: number; completed: number; failed: number }
  input_file_id: string
}
type Line = {
  custom_id: string | null
  response: { status_code: number; body: { choices: { text: string }[]; error: { message: string } } } | null
  error: { code: string } | null
}

suite('batches of requests', () => {
  let api: Api
  const model = connection().baseModel
  const endpoint = '/v1/completions'
  const lineOf = (at: number, body: object = {}, more: object = {}) =>
    JSON.stringify({
      custom_id: `line-${at}`,
      method: 'POST',
      url: endpoint,
      body: { model, prompt: `Question ${at}?`, max_tokens: 24, temperature: 0, ...body },
      ...more,
    })

  before(async () => {
    api = await openAccount()
  })

  async function upload(lines: readonly string[]): Promise<string> {
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new Blob([lines.join('\n')]), 'requests.jsonl')
    return (await api.post<{ id: string }>('/openai/v1/files', form)).id
  }

  async function submit(lines: readonly string[]): Promise<Batch> {
    const body = { input_file_id: await upload(lines), endpoint, completion_window: '24h' }
    return api.post<Batch>('/openai/v1/batches', body)
  }

  const find = (id: string) => api.get<Batch>(`/openai/v1/batches/${id}`)
  const isOver = ({ status }: Batch) => ['completed', 'cancelled', 'failed', 'expired'].includes(status)

  async function read(fileId: string | null): Promise<Line[]> {
    if (fileId === null) return []
    const headers = { authorization: `Bearer ${api.apiKey}` }
    const answer = await fetch(`${connection().apiUrl}/openai/v1/files/${fileId}/content`, { headers })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  }

  test('300 lines are answered once each, through kill -9 of worker and model server; bad lines are errors', async () => {
    const bad: Record<number, string> = {
      7: 'not json',
      130: lineOf(130, {}, { url: '/v1/embeddings' }),
      131: lineOf(131, { model: 'nobody' }),
      132: lineOf(132, { temperature: 9 }),
      299: lineOf(299, { prompt: 'word '.repeat(20_000) }),
    }
    const lines = Array.from({ length: 300 }, (_, at) => bad[at] ?? lineOf(at))
    await api.post('/v1/completions', { model_name: model, prompt: 'Is it warm?', max_tokens: 4 })
    const { id, input_file_id } = await submit([...lines, ''])
    // The batch has its own copy.
    await api.request('DELETE', `/openai/v1/files/${input_file_id}`)
    const kills = [
      () => process.kill(processId(connection(), 'worker'), 'SIGKILL'),
      () => process.kill(-(livingServers(model)[0] ?? assert.fail()), 'SIGKILL'),
    ]
    let shown = -1
    const batch = await eventually(async () => {
      const now = await find(id)
      const { completed } = now.request_counts
      if (completed > shown) {
        shown = completed
        if (!isOver(now)) kills.shift()?.()
      }
      return isOver(now) && now
    })
    assert.equal(kills.length, 0, 'everything was killed while the batch ran')
    assert.equal(batch.status, 'completed')
    assert.deepEqual(batch.request_counts, { total: 300, completed: 295, failed: 5 })
    const output = await read(batch.output_file_id)
    const errors = await read(batch.error_file_id)
    const isGood = (at: number) => !(at in bad)
    const numbers = Array.from({ length: 300 }, (_, at) => at)
    assert.deepEqual(
      output.map(({ custom_id }) => custom_id),
      numbers.filter(isGood).map((at) => `line-${at}`),
    )
    assert.deepEqual(
      errors.map(({ custom_id, response }) => [custom_id, response?.status_code]),
      [
        [null, 400],
        ['line-130', 400],
        ['line-131', 404],
        ['line-132', 400],
        ['line-299', 400],
      ],
    )
    assert.match(errors[2]?.response?.body.error.message ?? '', /nobody/)
    const alone = await api.post<{ choices: { text: string }[] }>('/openai/v1/completions', {
      model,
      prompt: [0, 200, 298].map((at) => `Question ${at}?`),
      max_tokens: 24,
      temperature: 0,
    })
    const answered = [0, 200, 298].map((at) => output.find(({ custom_id }) => custom_id === `line-${at}`))
    assert.deepEqual(
      answered.map((line) => line?.response?.body.choices[0]?.text),
      alone.choices.map(({ text }) => text),
    )
  })

  test('a cancelled batch keeps its answers and lists the rest as errors', async () => {
    const { id } = await submit(Array.from({ length: 600 }, (_, at) => lineOf(at, { max_tokens: 64 })))
    await eventually(async () => (await find(id)).status === 'in_progress')
    const cancelled = await api.post<Batch>(`/openai/v1/batches/${id}/cancel`)
    assert.equal(cancelled.status, 'cancelling')
    const batch = await eventually(async () => {
      const now = await find(id)
      return isOver(now) && now
    })
    assert.equal(batch.status, 'cancelled')
    const [output, errors] = [await read(batch.output_file_id), await read(batch.error_file_id)]
    const ids = [...output, ...errors].map(({ custom_id }) => Number(custom_id?.slice(5)))
    assert.deepEqual(
      ids.toSorted((a, b) => a - b),
      Array.from({ length: 600 }, (_, at) => at),
    )
    assert.ok(errors.length > 0 && errors.every(({ error }) => error?.code === 'batch_cancelled'))
    assert.equal((await api.post<Batch>(`/openai/v1/batches/${id}/cancel`)).status, 'cancelled')
    assert.equal((await api.request('GET', `/openai/v1/batches?after=${id}`)).status, 200)
  })
})
