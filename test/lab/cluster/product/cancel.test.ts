// A cancel on the cluster: once CANCELLED can be read no object of the job is left, and a resume completes the job.
import assert from 'node:assert/strict'
import { after, describe, test, type TestContext } from 'node:test'
import { leftOf, openJobs, podsOf, runningPod } from '../support/jobs.ts'

const jobs = await openJobs()
const { account } = jobs
after(() => jobs.end())

const args = { max_steps: 80, save_steps: 60 }

async function cancel(t: TestContext, id: number) {
  const atMs = performance.now()
  await account.post(`/v1/train/jobs/${id}/cancel`)
  await account.until(id, ({ status }) => status === 'CANCELLED', { everyMs: 5 })
  assert.deepEqual(await leftOf(id), [])
  t.diagnostic(`CANCELLED, and gone, after ${Math.round(performance.now() - atMs)} ms`)
  return (await jobs.attempts(id)).at(-1)
}

async function resume(id: number) {
  await account.post(`/v1/train/jobs/${id}/resume`)
  const done = await jobs.completes(id)
  assert.equal(done.resume_count, 1)
  return (await jobs.attempts(id)).at(-1)
}

describe('a job that is cancelled', { concurrency: true }, () => {
  test('while its pod is Pending never runs', async (t) => {
    const id = await jobs.train(args, { gpu_config: { gpus: 1 } })
    const waiting = await account.until(id, ({ status_reason }) => status_reason === 'unschedulable')
    assert.equal(waiting.status, 'QUEUED')
    const [pod] = await podsOf(id)
    assert.equal(pod?.status.phase, 'Pending')
    await cancel(t, id)
    assert.deepEqual(await account.history(id), [])
  })

  test('while it trains saves its steps first, and goes on from there to the losses of an uninterrupted run', async (t) => {
    const uninterrupted = await jobs.train(args)
    const id = await jobs.train(args)
    await jobs.reaches(id, 20)
    const ended = await cancel(t, id)
    assert.equal(ended?.exit_code, 143)
    const last = (await account.history(id)).at(-1)?.step ?? 0
    const resumed = await resume(id)
    // No regular checkpoint was due before step 60.
    assert((resumed?.from_step ?? 0) >= last, 'it went on from what it saved after SIGTERM')
    await jobs.completes(uninterrupted)
    assert.deepEqual(await jobs.losses(id), await jobs.losses(uninterrupted))
  })

  test('while it saves its model goes on from the saved model', async (t) => {
    const id = await jobs.train(args)
    const { status } = await account.until(id, (job) => ['SAVING MODEL', 'EVALUATING MODEL'].includes(job.status), {
      everyMs: 5,
    })
    await runningPod(id)
    await cancel(t, id)
    t.diagnostic(`cancelled while ${status}`)
    const resumed = await resume(id)
    assert((resumed?.from_step ?? 0) >= 60)
    assert.equal((await account.history(id)).at(-1)?.step, 80)
  })
})
