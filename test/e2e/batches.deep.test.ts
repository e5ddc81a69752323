// A durable batch, in order, complete and once, whatever is killed meanwhile.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { eventually } from '../support/eventually.ts'
import { livingServers } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Look = { outputs: ({ output: string } | null)[]; finish_reason: (string | null)[] }

suite('batches', async () => {
  const api = await openAccount()
  const model_name = connection().baseModel
  const prompts = Array.from({ length: 500 }, (_, index) => `${sampleRows[index % 40]?.input} (${index})`)

  const kill = (name: 'worker' | 'api') => process.kill(processId(connection(), name), 'SIGKILL')

  /** Polls as clients do, through restarts of the api. */
  async function follow(id: string, onLook: (count: number) => void) {
    const looks: Look[] = []
    await eventually(async () => {
      const result = await api.get<Look | object>(`/v1/batch_completions/${id}/result`).catch((error: unknown) => {
        if (error instanceof assert.AssertionError && !error.message.includes('503')) throw error
        return {}
      })
      if (!('outputs' in result)) return onLook(0)
      looks.push(result)
      onLook(result.outputs.filter(Boolean).length)
      return !result.finish_reason.includes(null)
    })
    return looks
  }

  test('500 prompts are answered in order, through kill -9 of worker, api and model server', async () => {
    const body = { prompt: prompts, max_tokens: 96 }
    await api.post('/v1/completions', { model_name, prompt: 'Is it warm?', max_tokens: 4 })
    const id = (await api.post<{ id: string }>('/v1/batch_completions', { model_name, ...body })).id
    // The first look comes before anything is done; the others with progress.
    const kills = [
      () => process.kill(-(livingServers(model_name)[0] ?? assert.fail()), 'SIGKILL'),
      () => kill('worker'),
      () => kill('api'),
    ]
    let shown = -1
    const looks = await follow(id, (count) => {
      if (count <= shown) return
      shown = count
      kills.shift()?.()
    })
    assert.equal(kills.length, 0, 'everything was killed while the batch ran')
    // The batch may be done before the api that was killed last is back.
    await eventually(() => api.get('/v1/version').catch(() => null))
    for (const { outputs, finish_reason } of looks) {
      assert.equal(outputs.length, 500)
      const done = finish_reason.findIndex((reason) => reason === null)
      const [before, after] = done < 0 ? [outputs, []] : [outputs.slice(0, done), outputs.slice(done)]
      assert.ok(before.every(Boolean) && after.every((output) => output === null), 'what is done stands first')
    }
    const expected = await api.post<{ output: string }[]>('/v1/completions', { model_name, ...body })
    assert.deepEqual(looks.at(-1)?.outputs, expected)
  })
})
