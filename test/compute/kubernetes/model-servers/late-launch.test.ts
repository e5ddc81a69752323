// A model server's launch or end by a worker that was held up, beside the next launch by another one.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ModelServerSpec } from '../../../../src/compute/model-servers.ts'
import { startApiServer } from '../support/small-api-server.ts'
import type { SmallApiServer } from '../support/small-api-server.ts'
import { modelServersOn, someRun } from '../support/small-cluster.ts'

const server = 'model-server-tiny'
const launchOf = (launch: number): ModelServerSpec => ({
  ...someRun(`${server}-g${launch}`, { secretEnv: { ANNEAL_TOKEN: `token ${launch}` } }),
  labels: { server, launch: String(launch) },
})
const { name: second } = launchOf(2)

/** A cluster with the first launch; at the first call of this kind another worker ends that and makes the second. */
async function overtakenAt(t: TestContext, overtaken: string, launchFirst: boolean) {
  const api = await startApiServer(t)
  const [compute, other] = [modelServersOn(t, api.url), modelServersOn(t, api.url)]
  const first = launchFirst ? await compute.launch(launchOf(1)) : null
  let isDue = true
  api.setFault(async (call) => {
    if (call !== overtaken || !isDue) return
    isDue = false
    await other.terminate({ name: launchOf(1).name }, { graceMs: 0 })
    await other.launch(launchOf(2))
    api.put('pods', {
      metadata: { name: 'replica', labels: api.objects.deployments.get(server)?.metadata.labels ?? {} },
    })
  })
  return { api, compute, first, wasHeld: () => !isDue }
}

function assertSecondIsWhole({ objects }: SmallApiServer) {
  const { uid, labels } = objects.deployments.get(server)?.metadata ?? assert.fail('no Deployment')
  assert.equal(labels['anneal.dev/launch'], '2')
  assert.deepEqual(objects.secrets.get(second)?.stringData, { ANNEAL_TOKEN: 'token 2' })
  for (const kind of ['secrets', 'services', 'poddisruptionbudgets'] as const)
    assert.deepEqual(
      objects[kind].get(second)?.metadata.ownerReferences?.map((owner) => owner.uid),
      [uid],
      kind,
    )
  assert.equal(objects.pods.get('replica')?.metadata.deletionTimestamp, undefined)
}

for (const call of ['POST deployments', 'POST secrets', 'POST services', 'POST poddisruptionbudgets'])
  test(`a launch that is overtaken at ${call} overwrites nothing of the next`, async (t) => {
    const { api, compute, wasHeld } = await overtakenAt(t, call, false)
    const late = compute.launch(launchOf(1))
    if (call === 'POST deployments')
      await assert.rejects(late, { code: 'unavailable', message: /still belongs to .*-g2/ })
    else await late
    assert.ok(wasHeld())
    assertSecondIsWhole(api)
  })

for (const call of [
  'GET deployments',
  'GET pods',
  ...['deployments', 'services', 'secrets'].map((kind) => `DELETE ${kind}`),
])
  test(`an end that is overtaken at ${call} takes nothing of the next`, async (t) => {
    const path = call.startsWith('GET') ? '' : `/${call.endsWith('deployments') ? server : launchOf(1).name}`
    const { api, compute, first, wasHeld } = await overtakenAt(t, call + path, true)
    await compute.terminate({ name: launchOf(1).name, uid: first?.uid }, { graceMs: 0 })
    assert.ok(wasHeld())
    assertSecondIsWhole(api)
  })
