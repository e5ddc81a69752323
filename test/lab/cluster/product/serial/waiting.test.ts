// Jobs that the cluster cannot run yet: each says why, and runs once it can. Only the wait for an image has an end.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sampleRows } from '../../../../support/rows.ts'
import { openAccount, type Job } from '../../../../support/stack.ts'
import { api as cluster, until } from '../../support/cluster.ts'
import { eventually } from '../../../../support/eventually.ts'

const runs = '/api/v1/namespaces/anneal-runs'

suite('a job that must wait', async () => {
  const api = await openAccount()
  const train = (more: Record<string, unknown> = {}) =>
    api.train({ data: sampleRows, finetune_args: { max_steps: 10 }, ...more })
  const waits = (id: number, reason: string) => api.until(id, ({ status_reason }) => status_reason === reason)
  const nothingIsLeftOf = async (id: number) => {
    const selector = encodeURIComponent(`anneal.dev/job=${id}`)
    const paths = ['/apis/batch/v1/namespaces/anneal-runs/jobs', `${runs}/pods`, `${runs}/secrets`]
    const found = await Promise.all(paths.map((path) => cluster.list(`${path}?labelSelector=${selector}`)))
    assert.deepEqual(
      found.flat().map(({ metadata }) => metadata.name),
      [],
    )
  }

  test('for an image that does not exist says so, and fails in the end', async () => {
    const id = await train({ model_name: 'no-such-image' })
    const waiting = await waits(id, 'image_unavailable')
    assert.equal(waiting.status, 'QUEUED')
    assert.match(waiting.status_message ?? '', /^Waiting for the image of the run: .*127\.0\.0\.1:1\/none:1/)
    const failed = await eventually(async () => {
      const job = await api.job(id)
      return job.status === 'FAILED' && job
    })
    assert.equal(failed.status_reason, 'image_unavailable')
    assert.match(failed.status_message ?? '', /^The image of the run cannot be pulled: .*127\.0\.0\.1:1\/none:1/)
    assert.equal(failed.resume_count, 0)
    await nothingIsLeftOf(id)
  })

  test('for a missing GPU names the resource, and runs once a node has a GPU', async () => {
    const id = await train({ gpu_config: { gpus: 1 } })
    const waiting = await waits(id, 'unschedulable')
    assert.equal(waiting.status, 'QUEUED')
    assert.match(waiting.status_message ?? '', /^No node has enough (CPU and )?nvidia\.com\/gpu free: /)
    await changeGpus('add')
    after(() => changeGpus('remove'))
    completed(await api.untilStatus(id, 'COMPLETED'))
    await nothingIsLeftOf(id)
  })

  test('for quota says whose, and runs once that is raised', async () => {
    const quota = `${runs}/resourcequotas/anneal-runs`
    const { spec } = await cluster.get<{ spec: { hard: Record<string, string> } }>(quota)
    const setMemory = (memory: string) => cluster.patch(quota, { spec: { hard: { 'requests.memory': memory } } })
    const memory = spec.hard['requests.memory'] ?? assert.fail('no quota of memory')
    await setMemory('1Gi')
    after(() => setMemory(memory))
    await until('the quota counts', async () => {
      const { status } = await cluster.get<{ status: { hard: Record<string, string> } }>(quota)
      return status.hard['requests.memory'] === '1Gi'
    })
    const id = await train()
    const waiting = await waits(id, 'quota_exceeded')
    assert.equal(waiting.status, 'QUEUED')
    assert.match(
      waiting.status_message ?? '',
      /^The quota of the namespace is used up: anneal-runs, requested: .*memory/,
    )
    await setMemory(memory)
    completed(await api.untilStatus(id, 'COMPLETED'))
  })
})

function completed({ status_reason, resume_count }: Job) {
  assert.deepEqual({ status_reason, resume_count }, { status_reason: null, resume_count: 0 })
}

const changeGpus = (op: 'add' | 'remove') =>
  cluster.patch(
    '/api/v1/nodes/node-1/status',
    ['capacity', 'allocatable'].map((kind) => ({ op, path: `/status/${kind}/nvidia.com~1gpu`, value: '1' })),
    'json-patch',
  )
