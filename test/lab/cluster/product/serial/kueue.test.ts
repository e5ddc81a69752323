// Kueue with quota for one job: a waiting job says so, and a preempted job continues from its checkpoint.
import { loadAllYaml } from '@kubernetes/client-node'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { root } from '../../../../../tools/paths.mjs'
import { createOperator } from '../../../../support/operator.ts'
import { createApi } from '../../../../support/stack.ts'
import type { KubernetesObject } from '../../api.ts'
import { api as cluster, until } from '../../support/cluster.ts'
import { openJobs } from '../../support/jobs.ts'
import { setWorkers } from '../../support/services.ts'

const kueue = '/apis/kueue.x-k8s.io/v1beta2'
const collections: Record<string, string> = {
  ResourceFlavor: `${kueue}/resourceflavors`,
  ClusterQueue: `${kueue}/clusterqueues`,
  LocalQueue: `${kueue}/namespaces/anneal-runs/localqueues`,
  WorkloadPriorityClass: `${kueue}/workloadpriorityclasses`,
}
const pathOf = ({ kind }: KubernetesObject) => collections[kind] ?? assert.fail(`where are ${kind}?`)
const component = readFileSync(join(root, 'k8s/components/kueue/anneal.yaml'), 'utf8')
/** A trainer asks for 200m in the test overlay. */
const quotaForOne = loadAllYaml(component.replace('nominalQuota: "64"', 'nominalQuota: 300m')) as KubernetesObject[]
const setCpuQuota = (nominalQuota: string) =>
  cluster.patch(
    `${kueue}/clusterqueues/anneal`,
    [{ op: 'replace', path: '/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota', value: nominalQuota }],
    'json-patch',
  )

async function openUrgentJobs() {
  const operator = createOperator()
  const { id, makeKey } = await operator.openAccount()
  await operator.post(`/accounts/${id}/priority`, { priority: 'high' })
  return openJobs({ of: createApi((await makeKey(['training', 'data', 'read'])).key) })
}

suite('with Kueue and quota for one job', async () => {
  const normal = await openJobs()
  const urgent = await openUrgentJobs()

  before(async () => {
    for (const object of quotaForOne) await cluster.apply(pathOf(object), object)
    await setWorkers({
      ANNEAL_KUEUE_QUEUE: 'anneal',
      ANNEAL_KUEUE_PRIORITY_CLASSES: 'anneal-low,anneal-normal,anneal-high',
    })
  })
  after(async () => {
    await Promise.all([normal.end(), urgent.end()])
    for (const object of quotaForOne.toReversed()) await cluster.delete(`${pathOf(object)}/${object.metadata.name}`)
    await until('the queue is gone', async () => !(await cluster.find(`${kueue}/clusterqueues/anneal`)))
    await setWorkers({ ANNEAL_KUEUE_QUEUE: null, ANNEAL_KUEUE_PRIORITY_CLASSES: null })
  })

  test('the second job waits and says so; a job of higher priority displaces the first, which loses nothing', async (t) => {
    const { account } = normal
    const args = { max_steps: 120, save_steps: 100 }
    const first = await normal.train(args)
    await account.untilStatus(first, 'LOADING DATA', 'TRAINING MODEL')
    const second = await normal.train(args)
    const waiting = await account.until(second, ({ status_message }) =>
      /^Waiting in the queue anneal, first of 1\. .*insufficient unused quota for cpu/.test(status_message ?? ''),
    )
    assert.equal(waiting.status, 'QUEUED')
    assert.equal(waiting.status_reason, 'waiting_for_quota')

    await normal.reaches(first, 10)
    const high = await urgent.train({ max_steps: 10 })
    const back = await account.until(first, ({ status }) => status === 'QUEUED')
    assert.equal(back.resume_count, 1)
    t.diagnostic(`${back.status_reason}: ${back.status_message}`)
    await urgent.completes(high)
    await setCpuQuota('3')
    await Promise.all([normal.completes(second), normal.completesAfter(first, ['preempted'])])
    assert.deepEqual(await normal.losses(first), await normal.losses(second))
  })
})
