import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { countRefusedSweep, serveWorkerHealth } from '../src/worker-health.ts'
import { call } from './http/support.ts'
import { freePort } from './support/free-port.ts'

type Watched = Parameters<Awaited<ReturnType<typeof serveWorkerHealth>>['watch']>[0][number]

const port = await freePort()
const health = await serveWorkerHealth('127.0.0.1', port)
after(() => health.close())

const get = async (path: string) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`)
  return { status: response.status, text: await response.text() }
}

const workers = (...states: string[]) =>
  states.map((state, i) => ({
    options: { taskQueue: `queue-${i}` },
    getState: () => state,
    getStatus: () => ({ numInFlightActivities: 3 }),
  })) as unknown as Watched[]

test('a worker that waits for Temporal lives and is not ready', async () => {
  assert.deepEqual([(await get('/healthz')).status, (await get('/readyz')).status], [200, 503])
})

test('is ready once all of its queues are polled', async () => {
  health.watch(workers('RUNNING', 'INITIALIZED'))
  assert.equal((await get('/readyz')).status, 503)
  health.watch(workers('RUNNING', 'RUNNING'))
  assert.equal((await get('/readyz')).status, 200)
})

test('a stopping worker stays alive until it has stopped, and takes no more work', async () => {
  health.watch(workers('DRAINING', 'STOPPED'))
  assert.deepEqual([(await get('/healthz')).status, (await get('/readyz')).status], [200, 503])
})

test('a failed Temporal worker is a reason for a restart', async () => {
  health.watch(workers('RUNNING', 'FAILED'))
  assert.equal((await get('/healthz')).status, 503)
})

test('metrics say which queue is polled and how much is in progress', async () => {
  health.watch(workers('RUNNING', 'STOPPED'))
  const { text } = await get('/metrics')
  assert.match(text, /^anneal_worker_polling\{queue="queue-0"\} 1$/m)
  assert.match(text, /^anneal_worker_polling\{queue="queue-1"\} 0$/m)
  assert.match(text, /^anneal_worker_activities\{queue="queue-0"\} 3$/m)
  assert.match(text, /^process_cpu_seconds_total/m)
})

test('nothing is told to a page whose site has made its name resolve to this port', async () => {
  for (const path of ['/metrics', '/healthz', '/readyz']) {
    const { status, text } = await call(port, 'GET', path, { key: null, headers: { host: 'evil.example' } })
    assert.equal(status, 421, path)
    assert.doesNotMatch(text, /queue/)
  }
})

test('refused sweeps are counted from zero, so that the alert sees the first refusal', async () => {
  const refusals = async () =>
    /^anneal_sweep_refusals_total\{reason="another_installation"\} (\d+)$/m.exec((await get('/metrics')).text)?.[1]
  assert.equal(await refusals(), '0')
  countRefusedSweep('another_installation')
  assert.equal(await refusals(), '1')
})

test('nothing else is served', async () => assert.equal((await get('/')).status, 404))
