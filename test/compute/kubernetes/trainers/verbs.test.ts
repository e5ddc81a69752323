import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podStatus } from '../support/small-api-server.ts'
import { observe, someRun, startSmallCluster, trainersOn } from '../support/small-cluster.ts'
import { until } from '../../../support/eventually.ts'

const name = 'ft-1-a1'
const terminated = (exitCode: number) => ({ terminated: { exitCode, reason: 'Error' } })

test('a launch whose answer was lost makes a single Job that owns its Secret', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  let lost = 0
  server.setFault((call) => (/^POST (jobs|secrets)$/.test(call) && lost++ % 2 === 0 ? { late: true } : undefined))
  const { uid } = await compute.launch(someRun(name))
  assert.equal(server.objects.jobs.size, 1)
  assert.equal(server.objects.jobs.get(name)?.metadata.uid, uid)
  assert.equal(server.objects.secrets.get(name)?.metadata.ownerReferences?.[0]?.uid, uid)
  assert.equal(lost, 4)
  assert.deepEqual(await compute.launch(someRun(name)), { uid, adopted: true })
})

test('a launch that was cut off between its Job and its Secret is finished by the next', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  server.setFault((call) => (call === 'POST secrets' ? { status: 403 } : undefined))
  await assert.rejects(compute.launch(someRun(name)), { code: 'unavailable' })
  server.setFault(() => undefined)
  const { uid, adopted } = await trainersOn(t, server.url).launch(someRun(name))
  assert(adopted)
  assert.equal(server.objects.secrets.get(name)?.metadata.ownerReferences?.[0]?.uid, uid)
})

test("a Job of that name which is not Anneal's is left alone", async (t) => {
  const { server, compute } = await startSmallCluster(t)
  server.put('jobs', { metadata: { name } })
  await assert.rejects(compute.launch(someRun(name)), { code: 'invalid' })
})

test('watches that are cut, an expired history and refused calls change no state and lose no change', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const { uid } = await compute.launch(someRun(name))
  server.startPod(name)
  const { states, end, last } = observe(compute, { name, uid })
  await until('it runs', () => last() === 'running' && server.watchCount() === 3)
  server.cutWatches()
  await until('it is watched again', () => server.watchCount() === 3)
  server.calls.length = 0
  server.setFault(() => {
    const n = server.calls.length
    return n % 2 === 0 && n < 12 ? { status: n % 4 === 0 ? 429 : 500, retryAfter: '0' } : undefined
  })
  server.put('jobs', { metadata: { name: 'elsewhere' } })
  server.compact()
  server.cutWatches()
  await until('the collections were listed again', () => server.calls.includes('GET pods') && server.watchCount() === 3)
  server.startPod(name, podStatus('Succeeded', terminated(0)))
  assert.equal((await end).state, 'succeeded')
  assert(!states.some(({ state }) => state === 'gone' || state === 'failed'))
})

test('an API server that is away is unreachable, not gone', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const { uid } = await compute.launch(someRun(name))
  server.startPod(name)
  const { states, end, last } = observe(compute, { name, uid })
  await until('it runs', () => last() === 'running')
  server.setFault(() => ({ status: 503 }))
  server.cutWatches()
  await until('it is unreachable', () => last() === 'unreachable')
  server.remove('pods', `${name}-pod`)
  server.remove('jobs', name)
  assert.equal(last(), 'unreachable')
  server.setFault(() => undefined)
  assert.equal((await end).state, 'gone')
  assert.deepEqual(
    states.map(({ state }) => state),
    ['running', 'unreachable', 'gone'],
  )
})

test('terminate asks at once, waits for the pod, and tells its exit code and last lines', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const { uid } = await compute.launch(someRun(name))
  server.startPod(name)
  server.logs.set(`${name}-pod`, 'step 1\nsaved\n')
  let isOver = false
  const ending = compute.terminate({ name }, { graceMs: 5_000, logTailBytes: 6 }).finally(() => (isOver = true))
  await until(
    'the pod is asked',
    () => server.objects.pods.get(`${name}-pod`)?.metadata.deletionTimestamp !== undefined,
  )
  assert(server.objects.jobs.get(name)?.metadata.deletionTimestamp)
  assert(!isOver)
  server.startPod(name, podStatus('Failed', terminated(143)))
  server.remove('pods', `${name}-pod`)
  const { end, logTail } = await ending
  assert.deepEqual(end, {
    state: 'failed',
    uid,
    exitCode: 143,
    signal: 'SIGTERM',
    reason: 'killed',
    message: 'The program was ended by SIGTERM.',
  })
  assert.equal(logTail, 'saved\n')
  assert.deepEqual([server.objects.jobs.size, server.objects.pods.size, server.objects.secrets.size], [0, 0, 0])
  assert.deepEqual(await compute.terminate({ name }, { graceMs: 0 }), { end: { state: 'gone' }, logTail: null })
})

test('a removed pod keeps its recorded end', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  await compute.launch(someRun(name))
  server.startPod(name, podStatus('Failed', { terminated: { exitCode: 137, reason: 'OOMKilled' } }))
  const ending = compute.terminate({ name }, { graceMs: 0 })
  await until(
    'the pod is asked',
    () => server.objects.pods.get(`${name}-pod`)?.metadata.deletionTimestamp !== undefined,
  )
  server.remove('pods', `${name}-pod`)
  const { end } = await ending
  assert(end.state === 'failed' && end.reason === 'out_of_memory')
})

test('a run on a lost node is fenced before it is declared dead', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const { uid } = await compute.launch(someRun(name))
  server.startPod(name)
  const pod = `${name}-pod`
  const silentSince = new Date(Date.now() - 60_000).toISOString()
  server.put('pods', { metadata: { name: pod, deletionTimestamp: silentSince } })
  const lost = await compute.watch({ name, uid }, { signal: t.signal })
  assert(lost.state === 'failed' && lost.reason === 'node_lost')

  const done: string[] = []
  server.setFault((call) => void (/PATCH pods/.test(call) && done.push('declared dead')))
  const { end } = await compute.terminate(
    { name },
    { graceMs: 0, fence: async () => void done.push(`fenced, ${server.objects.pods.size} pod`) },
  )
  assert(end.state === 'failed' && end.reason === 'node_lost')
  assert.deepEqual(done, ['fenced, 1 pod', 'declared dead'])
  assert.equal(server.objects.pods.size, 0)
})

test('without a fence a run on a lost node is waited for', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  await compute.launch(someRun(name))
  server.startPod(name)
  const pod = `${name}-pod`
  server.put('pods', { metadata: { name: pod, deletionTimestamp: new Date(Date.now() - 60_000).toISOString() } })
  const stopping = new AbortController()
  const ending = compute.terminate({ name }, { graceMs: 0, signal: stopping.signal })
  const reads = () => server.calls.filter((call) => call === 'GET pods').length
  await until('it has looked twice', () => reads() > 2)
  stopping.abort()
  await assert.rejects(ending, { name: 'AbortError' })
  assert.equal(server.objects.pods.size, 1)
})

test('from its launch to its end a run costs nine calls, of which one tries its template; to watch it costs none', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const { uid } = await compute.launch(someRun(name))
  assert.deepEqual(server.calls, ['POST pods', 'POST jobs', 'POST secrets'])
  const { end, last } = observe(compute, { name, uid })
  await until('it is pending', () => last() === 'pending')
  await until('all is watched', () => server.watchCount() === 3)
  server.calls.length = 0
  server.startPod(name)
  await until('it runs', () => last() === 'running')
  server.startPod(name, podStatus('Succeeded', terminated(0)))
  await end
  assert.deepEqual(server.calls, [])
  const ending = compute.terminate({ name }, { graceMs: 1_000, logTailBytes: 6 })
  await until('all is asked to go', () => server.objects.secrets.size === 0)
  server.remove('pods', `${name}-pod`)
  assert.equal((await ending).end.state, 'succeeded')
  const removed = ['DELETE jobs/ft-1-a1', 'DELETE pods/ft-1-a1-pod', 'DELETE secrets/ft-1-a1']
  // On a slow machine it is looked once more whether all is gone.
  assert.deepEqual([...new Set(server.calls)], ['GET pods/ft-1-a1-pod/log', ...removed, 'GET jobs/ft-1-a1', 'GET pods'])
})
