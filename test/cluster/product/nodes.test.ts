// Nodes that go: drained with our own services on them, or lost while what they run runs on.
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import { api, control, until, type Pod } from '../support/cluster.ts'
import { cordon, drain, openJobs, podsOf, servicePods, servicesAreUp } from '../support/jobs.ts'

const jobs = await openJobs()
const { strike } = jobs
after(() => jobs.end())
afterEach(() => Promise.all(['node-1', 'node-2'].map((node) => cordon(node, false))))

const args = { max_steps: 120, save_steps: 30 }

describe('a node', () => {
  test('that is drained, our own services with it, and one that is cut off: the job goes on elsewhere', async (t) => {
    const id = await jobs.train(args)
    const drained = await strike(t, id, 10, (pod) => drain(pod.spec.nodeName ?? ''))
    assert.equal(drained.cause, 'evicted')
    await servicesAreUp()
    await cordon(drained.node, false)

    // Neither api nor worker is on the node that goes: it was just drained.
    const [worker] = await servicePods('anneal-worker')
    const serving = worker?.spec.nodeName ?? assert.fail('no worker')
    assert.notEqual(serving, drained.node)
    await cordon(serving, true)
    const second = await jobs.train(args)
    await jobs.reaches(second, 10)
    await cordon(serving, false)
    try {
      const lost = await strike(t, second, 40, ({ spec }) => control.cut(spec.nodeName as 'node-1'))
      assert.equal(lost.node, drained.node)
      assert.equal(lost.cause, 'node_lost')
      const pods = await podsOf(second)
      assert.deepEqual(
        pods.map(({ spec }) => spec.nodeName),
        [serving],
      )
    } finally {
      await control.join(drained.node as 'node-1')
    }
    // The trainer of before is back on the network: it can write nothing.
    await jobs.completesAfter(second, ['node_lost'])
    await jobs.completesAfter(id, ['evicted'])
    assert.deepEqual(await jobs.losses(second), await jobs.losses(id))
    await until(
      'the node is back',
      async () => {
        const { status } = await api.get<Pod>(`/api/v1/nodes/${drained.node}`)
        return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
      },
      180_000,
    )
  })
})
