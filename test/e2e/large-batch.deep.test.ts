// The largest batch that is accepted: through kill -9 of api, worker and model server, its output is that of an undisturbed one,
// byte for byte but for ids and times. ANNEAL_BATCH_LINES asks for fewer lines.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { eventually } from '../support/eventually.ts'
import { livingServers } from '../support/processes.ts'
import { connection, openAccount } from '../support/stack.ts'

type Batch = {
  id: string
  status: string
  output_file_id: string
  error_file_id: string | null
  request_counts: { total: number; completed: number; failed: number }
}

const lineCount = Number(process.env['ANNEAL_BATCH_LINES'] ?? 50_000)

suite(`a batch of ${lineCount} lines`, async () => {
  const api = await openAccount()
  const model = connection().baseModel
  const endpoint = '/v1/completions'
  const lines = Array.from({ length: lineCount }, (_, at) =>
    JSON.stringify({
      custom_id: `line-${at}`,
      method: 'POST',
      url: endpoint,
      body: { model, prompt: `Question ${at}?`, max_tokens: 4, temperature: 0 },
    }),
  )
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob([lines.join('\n')]), 'requests.jsonl')
  const { id: fileId } = await api.post<{ id: string }>('/openai/v1/files', form)

  async function run(onProgress: (share: number) => void): Promise<Batch> {
    const body = { input_file_id: fileId, endpoint, completion_window: '24h' }
    const { id } = await api.post<Batch>('/openai/v1/batches', body)
    const startedMs = performance.now()
    let done = 0
    let batch = await api.get<Batch>(`/openai/v1/batches/${id}`)
    while (!['completed', 'failed', 'expired'].includes(batch.status))
      // Ends a run that makes no progress, not one that is slow.
      await eventually(async () => {
        batch = await api.get<Batch>(`/openai/v1/batches/${id}`).catch(() => batch)
        const { completed, total } = batch.request_counts
        if (completed === done && batch.status === 'in_progress') return false
        done = completed
        onProgress(done / total)
        return true
      })
    assert.deepEqual(batch.request_counts, { total: lineCount, completed: lineCount, failed: 0 })
    assert.deepEqual([batch.status, batch.error_file_id], ['completed', null])
    console.log(`${Math.round((lineCount * 1000) / (performance.now() - startedMs))} lines a second`)
    return batch
  }

  async function outputOf({ id, output_file_id: output }: Batch): Promise<string> {
    const headers = { authorization: `Bearer ${api.apiKey}` }
    const response = await fetch(`${connection().apiUrl}/openai/v1/files/${output}/content`, { headers })
    assert.equal(response.status, 200)
    return (await response.text())
      .replaceAll(id.replace('batch_', ''), '<batch>')
      .replaceAll(/"cmpl-[0-9a-f]{32}"/g, '"cmpl-<id>"')
      .replaceAll(/"created":\d+/g, '"created":0')
  }

  test('has the output of an undisturbed one, with every line once', async () => {
    const kills = [
      () => process.kill(-(livingServers(model)[0] ?? assert.fail('no model server')), 'SIGKILL'),
      () => process.kill(processId(connection(), 'worker'), 'SIGKILL'),
      () => process.kill(processId(connection(), 'api'), 'SIGKILL'),
    ]
    let next = 0.1
    const struck = await run((share) => {
      if (share < next || share >= 1 || kills.length === 0) return
      next = share + 0.2
      kills.shift()?.()
    })
    assert.equal(kills.length, 0, 'everything was killed while the batch ran')
    const output = await outputOf(struck)
    const ids = output
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id)
    assert.deepEqual(
      ids,
      Array.from({ length: lineCount }, (_, at) => `line-${at}`),
    )
    assert.ok(output === (await outputOf(await run(() => undefined))), 'the outputs differ')
  })
})
