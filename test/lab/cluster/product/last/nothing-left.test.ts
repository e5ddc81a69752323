// After all suites, once the model servers are told to stop, no object of ours is left in the namespace of the runs.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connection } from '../../../../support/stack.ts'
import { api, until } from '../../support/cluster.ts'

const kinds = [
  'apis/apps/v1/deployments',
  'apis/batch/v1/jobs',
  ...['pods', 'secrets', 'services'].map((kind) => `api/v1/${kind}`),
]

async function objectsOf(namespace: string) {
  const paths = kinds.map((kind) => `/${kind.replace(/\/(?=\w+$)/, `/namespaces/${namespace}/`)}`)
  const found = await Promise.all(paths.map((path) => api.list(path)))
  return found.flatMap((objects, index) => objects.map(({ metadata }) => `${kinds[index]} ${metadata.name}`))
}

test('no pod, Job, Secret, Service or Deployment of any job or model server is left', async (t) => {
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  t.after(() => temporal.close())
  const { workflow } = new Client({ connection: temporal })
  const serving = workflow.list({ query: "WorkflowType = 'modelServer' AND ExecutionStatus = 'Running'" })
  for await (const { workflowId } of serving) await workflow.getHandle(workflowId).cancel()
  await until('nothing is left', async () => (await objectsOf('anneal-runs')).length === 0).catch(() => undefined)
  assert.deepEqual(await objectsOf('anneal-runs'), [])
})
