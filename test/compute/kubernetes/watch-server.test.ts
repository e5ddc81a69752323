import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podStatus, startApiServer } from './support/small-api-server.ts'
import { modelServersOn, observe, until } from './support/small-cluster.ts'

const name = 'model-server-tiny'
const labels = {
  'app.kubernetes.io/managed-by': 'anneal',
  'app.kubernetes.io/component': 'model-server',
  'anneal.dev/run': name,
}
const running = podStatus('Running', { running: {} }, 'model-server')

test('a model server is watched from its first replica to its end, which the API server confirms', async (t) => {
  const server = await startApiServer(t)
  const compute = modelServersOn(t, server.url)
  const { uid } = server.put('deployments', { metadata: { name, labels } }).metadata
  const { states, end, last } = observe(compute, { name, uid })
  await until('it is pending', () => last() === 'pending')
  server.put('pods', { metadata: { name: 'replica-1', labels }, status: running })
  await until('it runs', () => last() === 'running')
  server.remove('pods', 'replica-1')
  server.remove('deployments', name)
  assert.deepEqual(await end, { state: 'gone' })
  const told = states.map(({ state }) => state)
  assert.equal(told[0], 'pending')
  assert.deepEqual(
    states.find(({ state }) => state === 'running'),
    { state: 'running', uid, instances: ['replica-1'] },
  )
  assert.equal(told.at(-1), 'gone')
  assert(!told.includes('unreachable'))
})
