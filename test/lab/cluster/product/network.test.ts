// Tests from pods which connections are refused. That the allowed ones are enough is proved by the main job.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { connection } from '../../../support/stack.ts'
import { api, cluster, shellPod, until, type Pod } from '../support/cluster.ts'

const { apiUrl, internalUrl, adminUrl, databaseUrl, temporalAddress, s3 } = connection()
const targets = {
  'public API': apiUrl,
  'internal API': internalUrl,
  'admin API': adminUrl,
  Postgres: databaseUrl,
  Temporal: `http://${temporalAddress}`,
  'object store': s3.endpoint,
  'API server': `https://${cluster.host.address}:6443`,
}
const made: string[] = []
after(() => Promise.all(made.map((path) => api.delete(path))))

describe('a pod', () => {
  test('in the namespace of runs reaches the internal API and the object store, nothing else', async () => {
    assert.deepEqual(await reachedFrom('anneal-runs'), ['internal API', 'object store'])
  })

  test('without the labels of api and worker reaches the stores, nothing else', async () => {
    assert.deepEqual(await reachedFrom('anneal'), ['Postgres', 'object store'])
  })
})

/** The addresses that accept a connection. */
async function reachedFrom(namespace: string): Promise<string[]> {
  const tries = Object.entries(targets).map(([name, url]) => {
    const { hostname, port } = new URL(url)
    return `nc -w 3 ${hostname} ${port} -e true 2> /dev/null && echo ${name} &`
  })
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const resources = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '100m', memory: '16Mi' } }
  // All policies of a pod take effect at once, a moment after the pod has its address.
  const { hostname, port } = new URL(targets['API server'])
  const untilClosed = `while nc -w 1 ${hostname} ${port} -e true 2> /dev/null; do sleep 0.2; done`
  const script = [untilClosed, ...tries, 'wait'].join('\n')
  const spec = shellPod(script, {}, { resources })
  made.push(`${pods}/who-reaches-whom`)
  await api.post(pods, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'who-reaches-whom' }, spec })
  await until('the end of the pod', async () => {
    const { status } = await api.get<Pod>(`${pods}/who-reaches-whom`)
    return status.phase === 'Succeeded' || status.phase === 'Failed'
  })
  const answer = await api.text('GET', `${pods}/who-reaches-whom/log`)
  return answer.trim().split('\n').toSorted()
}
