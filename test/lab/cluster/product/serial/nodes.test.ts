// Nodes that are drained with our own services on them, or lost while their programs run on.
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import type { Machine } from '../../settings.ts'
import { api, control, until, type Pod } from '../../support/cluster.ts'
import { cordon, drain, openJobs, podsOf, programsOf, runningPod } from '../../support/jobs.ts'
import { servicePods, servicesAreUp } from '../../support/services.ts'

const jobs = await openJobs()
const { account, inject } = jobs
after(() => jobs.end())
afterEach(() => Promise.all(['node-1', 'node-2'].map((node) => cordon(node, false))))

const args = { max_steps: 120, save_steps: 30 }
/** The losses of an undisturbed run, to compare with. */
let drainedJob = 0

/** A job that trains on one node while api and worker are on the other. */
async function trainApart(more = {}) {
  const [worker] = await servicePods('anneal-worker')
  const serving = worker?.spec.nodeName ?? assert.fail('no worker')
  const free = serving === 'node-1' ? 'node-2' : 'node-1'
  await drain(free)
  await servicesAreUp()
  await cordon(serving, true)
  await cordon(free, false)
  const id = await jobs.train({ ...args, ...more })
  await jobs.reaches(id, 10)
  await cordon(serving, false)
  return { id, serving }
}

const isReady = (node: string) =>
  until(`${node} is ready`, async () => {
    const { status } = await api.get<Pod>(`/api/v1/nodes/${node}`)
    return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  })

describe('a node', () => {
  test('is drained with our own services on it: the job goes on elsewhere', async (t) => {
    const id = (drainedJob = await jobs.train(args))
    const drained = await inject(t, id, 10, (pod) => drain(pod.spec.nodeName ?? ''))
    assert.equal(drained.cause, 'evicted')
    await servicesAreUp()
    const services = [...(await servicePods('anneal-api')), ...(await servicePods('anneal-worker'))]
    assert(services.every(({ spec }) => spec.nodeName !== drained.node))
    await jobs.completesAfter(id, ['evicted'])
  })

  test('is cut off: the job goes on elsewhere, and the old trainer can write nothing', async (t) => {
    const { id, serving } = await trainApart()
    let node = ''
    try {
      const lost = await inject(t, id, 40, ({ spec }) => control.cut((node = spec.nodeName ?? '') as Machine))
      assert.equal(lost.cause, 'node_lost')
      const pods = await podsOf(id)
      assert.deepEqual(
        pods.map(({ spec }) => spec.nodeName),
        [serving],
      )
    } finally {
      await control.join(node as Machine)
    }
    await jobs.completesAfter(id, ['node_lost'])
    assert.deepEqual(await jobs.losses(id), await jobs.losses(drainedJob))
    await isReady(node)
  })

  test('loses its kubelet alone: the job goes on elsewhere, and the old trainer is refused and ends', async (t) => {
    // With fewer steps the job would end before the node counts as lost.
    const { id } = await trainApart({ max_steps: 20_000 })
    const pod = await runningPod(id)
    const node = (pod.spec.nodeName ?? '') as Machine
    try {
      const lost = await inject(t, id, 40, () => control.stop(node, 'kubelet'))
      assert.equal(lost.cause, 'node_lost')
      await until('the trainer of before has ended', () => Promise.resolve(programsOf(pod).length === 0))
      const [, now] = await jobs.attempts(id)
      assert((now?.from_step ?? 0) >= 30)
    } finally {
      await control.start(node, 'kubelet')
    }
    await account.post(`/v1/train/jobs/${id}/cancel`)
    await account.untilStatus(id, 'CANCELLED')
    await isReady(node)
  })
})
