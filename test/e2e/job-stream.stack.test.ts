// A real job followed by `curl -N` alone, from its acceptance to its end, with the connection broken on the way.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { suite, test } from 'node:test'
import { serverSentEvents, type ServerSentEvent } from '../../src/cli/remote/server-sent-events.ts'
import { sampleFile } from '../support/rows.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'

type Data = {
  event_id?: string | null
  id?: string
  status?: string
  step?: number
  line?: string
  model_name?: string
}
type Told = Omit<ServerSentEvent, 'data'> & { data: Data }

suite('the stream of a job', () => {
  /** Runs curl until the server ends the stream. Leaving the loop kills curl. */
  async function* follow(api: Api, jobId: number, lastEventId?: string): AsyncGenerator<Told> {
    const headers = [`Authorization: Bearer ${api.apiKey}`, ...(lastEventId ? [`Last-Event-ID: ${lastEventId}`] : [])]
    const url = `${connection().apiUrl}/v1/train/jobs/${jobId}/stream`
    const curl = spawn('curl', ['-NsSf', ...headers.flatMap((header) => ['-H', header]), url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(curl, 'close')
    try {
      for await (const { id, event, data } of serverSentEvents(curl.stdout))
        yield { id, event, data: JSON.parse(data) as Data }
      assert.deepEqual(await ended, [0, null], 'the server ends the stream')
    } finally {
      curl.kill('SIGKILL')
    }
  }

  test('tells everything once, in order, though the connection breaks twice', async (t) => {
    const api = await openAccount()
    const location = await api.upload('products', sampleFile)
    const id = await api.train({ upload_file_path: location, finetune_args: { max_steps: 60, batch_size: 4 } })
    const told: Told[] = []
    /** Breaks the connection at the first event that is wanted. */
    const followUntil = async (isWanted: (each: Told) => boolean) => {
      for await (const each of follow(api, id, told.at(-1)?.id)) {
        told.push(each)
        if (isWanted(each)) return
      }
    }
    await followUntil(({ event }) => event === 'metric')
    await followUntil(({ event, data }) => event === 'metric' && (data.step ?? 0) >= 30)
    await followUntil(({ event }) => event === 'end')

    const states = told.flatMap(({ event, data }) => (event === 'status' ? (data.status ?? []) : []))
    assert.deepEqual([states[0], states.at(-1)], ['CREATED', 'COMPLETED'])
    const of = (...kinds: string[]) => told.filter(({ event }) => kinds.includes(event)).map(({ data }) => data)
    const { events } = await api.get<{ events: { id: string }[] }>(`/v1/train/jobs/${id}/events?limit=1000`)
    const toldEvents = of('status', 'event').flatMap((data) => data.event_id ?? data.id ?? [])
    assert.deepEqual(
      toldEvents,
      events.map((event) => event.id),
    )
    const { metrics } = await api.get<{ metrics: Data[] }>(`/v1/train/jobs/${id}/metrics`)
    assert.deepEqual(
      of('metric').map(({ step }) => step),
      metrics.map(({ step }) => step),
    )
    const { text, complete } = await api.get<{ text: string; complete: boolean }>(
      `/v1/train/jobs/${id}/logs?limit=1048576`,
    )
    assert.ok(complete)
    assert.deepEqual(
      of('log')
        .map(({ line }) => line)
        .join('\n')
        .trimEnd(),
      text.trimEnd(),
    )
    assert.equal(new Set(told.map((each) => each.id)).size, told.length, 'no id comes twice')
    const kinds = Object.entries(Object.groupBy(told, ({ event }) => event)).map(
      ([kind, each]) => `${each?.length} ${kind}`,
    )
    t.diagnostic(`${told.length} events by three connections: ${kinds.join(', ')}; states: ${states.join(', ')}`)

    const job = await api.job(id)
    assert.deepEqual(
      [told.at(-1)?.event, of('end')[0]?.status, of('end')[0]?.model_name],
      ['end', 'COMPLETED', job.model_name],
    )
    assert.equal(of('progress').at(-1)?.step, 60)

    const again: Told[] = []
    for await (const each of follow(api, id, told.at(-1)?.id)) again.push(each)
    assert.deepEqual(again, [told.at(-1)], 'a follower that has had everything is told the end')
    const whole: Told[] = []
    for await (const each of follow(api, id)) whole.push(each)
    assert.deepEqual(whole.filter(({ event }) => event === 'metric').length, metrics.length)
    const strange = await api.request('GET', `/v1/train/jobs/${id}/stream`, undefined, { 'last-event-id': 'x' })
    assert.equal(strange.status, 400)
  })
})
