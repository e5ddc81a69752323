// Ends training pods in several ways on a real cluster: each has the consequence that the table in docs/reliability.md promises.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { deletePod, evict, killProcesses, openJobs } from '../support/jobs.ts'

const jobs = await openJobs()
const { account, inject } = jobs
after(() => jobs.end())

const args = { max_steps: 160, save_steps: 30 }

describe('a training pod', { concurrency: true }, () => {
  test('goes on after a deletion, a SIGKILL and an eviction, to the losses of an uninterrupted run', async (t) => {
    const [uninterrupted, id] = await Promise.all([jobs.train(args), jobs.train(args)])
    const deleted = await inject(t, id, 10, (pod) => deletePod(pod))
    assert.equal(deleted.cause, 'killed')
    assert.equal(deleted.exit_code, 143)
    const killed = await inject(t, id, 40, (pod) => Promise.resolve(killProcesses(pod)))
    assert.equal(killed.cause, 'killed')
    assert.equal(killed.exit_code, 137)
    const evicted = await inject(t, id, 70, evict)
    assert.equal(evicted.cause, 'evicted')
    await jobs.completesAfter(id, ['killed', 'killed', 'evicted'])
    await jobs.completes(uninterrupted)
    assert.deepEqual(await jobs.losses(id), await jobs.losses(uninterrupted))
  })

  test('is tried once more after it exceeded its memory, then the job says so', async () => {
    const long = Array.from({ length: 100 }, (_, row) => ({
      input: `${row} `.repeat(500),
      output: 'much '.repeat(500),
    }))
    const id = await jobs.train(
      { ...args, batch_size: 100, max_length: 1024 },
      { data: long, eval_data: long.slice(0, 1) },
    )
    const job = await account.until(id, ({ status }) => status === 'FAILED')
    assert.equal(job.status_reason, 'out_of_memory')
    assert.equal(job.resume_count, 1)
    const attempts = await jobs.attempts(id)
    assert.deepEqual(
      attempts.map(({ cause, exit_code }) => [cause, exit_code]),
      Array.from({ length: 2 }, () => ['out_of_memory', 137]),
    )
  })
})
