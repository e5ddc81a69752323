// An API server that is away or fails: no run counts as dead, no run starts twice, and the service soon learns what happened
// meanwhile. BLACKOUT_SECONDS=180 makes the outage a long one.
import assert from 'node:assert/strict'
import { after, afterEach, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { api, control, until } from '../../support/cluster.ts'
import { leftOf, openJobs, podsOf } from '../../support/jobs.ts'

const blackoutMs = Number(process.env['BLACKOUT_SECONDS'] ?? 20) * 1000
const jobs = await openJobs()
const { account } = jobs
after(() => jobs.end())
afterEach(() => control.setFaults({}))

const args = { max_steps: 100, save_steps: 50 }
const endless = { ...args, max_steps: 20_000 }

test(`an API server that is away for ${blackoutMs / 1000} s: jobs in all states stay what they are, and go on`, async (t) => {
  const [waiting, training, cancelled] = await Promise.all([
    jobs.train(args, { gpu_config: { gpus: 1 } }),
    // This job still trains when the others are ready, and ends soon after the API server is back.
    jobs.train({ ...args, max_steps: 600 }),
    jobs.train(endless),
  ])
  await account.until(waiting, ({ status_reason }) => status_reason === 'unschedulable')
  await Promise.all([jobs.reaches(training, 10), jobs.reaches(cancelled, 10)])
  const loading = await jobs.train(endless)
  await account.untilStatus(loading, 'LOADING DATA')
  assert.equal((await account.job(training)).status, 'TRAINING MODEL')
  await control.stop('control', 'kube-apiserver')
  let submitted = 0
  try {
    await account.post(`/v1/train/jobs/${cancelled}/cancel`)
    submitted = await jobs.train(args)
    await sleep(blackoutMs)
    const seen = await Promise.all([waiting, training, loading, submitted, cancelled].map((id) => account.job(id)))
    t.diagnostic(`meanwhile: ${seen.map(({ status }) => status).join(', ')}`)
    const [still, trained, loaded, unmade, ending] = seen.map(({ status }) => status)
    assert.equal(still, 'QUEUED')
    assert(trained && loaded && !['FAILED', 'QUEUED', 'COMPLETED'].some((status) => [trained, loaded].includes(status)))
    assert(unmade && ['CREATED', 'QUEUED'].includes(unmade))
    assert.notEqual(ending, 'CANCELLED')
    assert.equal(seen.at(-1)?.status_reason, 'cancelling')
  } finally {
    await control.start('control', 'kube-apiserver')
    await until('the API server', api.answers)
  }
  const compare = follow(t)
  await Promise.all([
    compare('cancelled', nothingLeft(cancelled), async () => {
      await account.until(cancelled, ({ status }) => status === 'CANCELLED', { everyMs: 5 })
      assert.deepEqual(await leftOf(cancelled), [])
    }),
    compare('ended', podsGone(training), () => jobs.completesAfter(training, [])),
    compare('submitted meanwhile', madePod(submitted), () =>
      until('its Job', async () => (await leftOf(submitted)).length > 0),
    ),
  ])
  assert.equal((await account.job(waiting)).status_reason, 'unschedulable')
  assert.equal((await account.job(loading)).resume_count, 0)
  for (const id of [waiting, loading]) {
    await account.post(`/v1/train/jobs/${id}/cancel`)
    await account.untilStatus(id, 'CANCELLED')
  }
  await jobs.completesAfter(submitted, [])
})

const nothingLeft = (id: number) => async () => (await leftOf(id)).length === 0
const podsGone = (id: number) => async () =>
  (await podsOf(id)).every(({ status }) => !['Pending', 'Running'].includes(status.phase))
const madePod = (id: number) => async () => (await podsOf(id)).length > 0

/** When the cluster's own controllers and kubelets had done their part, and when we had said so, from now on. */
function follow(t: TestContext) {
  const startedAtMs = performance.now()
  const after = async (work: Promise<unknown>) => {
    await work
    return `${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`
  }
  return async (what: string, theirs: () => Promise<boolean>, ours: () => Promise<unknown>) => {
    const [they, we] = await Promise.all([after(until(what, theirs)), after(ours())])
    t.diagnostic(`${what}: the cluster after ${they}, we after ${we}`)
  }
}

test('half of all calls answered by 500, then by 429, and watches cut every 2 s: a job runs once, a cancelled one is gone', async (t) => {
  await control.forgetCalls()
  const fail = (status: 500 | 429) => control.setFaults({ status, share: 0.5, cutWatches: 1, cutAfterMs: 2_000 })
  await fail(500)
  const [id, cancelled] = await Promise.all([jobs.train({ max_steps: 40 }), jobs.train(endless)])
  await jobs.reaches(cancelled, 10)
  await fail(429)
  const atMs = performance.now()
  await account.post(`/v1/train/jobs/${cancelled}/cancel`)
  await account.until(cancelled, (job) => job.status === 'CANCELLED', { everyMs: 5 })
  assert.deepEqual(await leftOf(cancelled), [])
  t.diagnostic(`CANCELLED after ${((performance.now() - atMs) / 1000).toFixed(1)} s`)
  await jobs.completesAfter(id, [])
  t.diagnostic(`calls for two jobs: ${JSON.stringify(await control.calls())}`)
})
