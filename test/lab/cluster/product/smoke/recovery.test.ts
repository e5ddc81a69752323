// The short form of cancel.test.ts and faults.test.ts, for runs that skip both (--smoke).
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deletePod, leftOf, openJobs } from '../../support/jobs.ts'

const jobs = await openJobs()
const { account, inject } = jobs
after(() => jobs.end())

test('a job whose pod is deleted trains on; cancelled, it leaves nothing; resumed, it completes', async (t) => {
  const id = await jobs.train({ max_steps: 80, save_steps: 30 })
  const lost = await inject(t, id, 10, (pod) => deletePod(pod))
  assert.deepEqual([lost.cause, lost.exit_code], ['killed', 143])
  await account.post(`/v1/train/jobs/${id}/cancel`)
  await account.until(id, ({ status }) => status === 'CANCELLED', { everyMs: 5 })
  assert.deepEqual(await leftOf(id), [])
  await account.post(`/v1/train/jobs/${id}/resume`)
  await jobs.completes(id)
  // Both attempts saved their steps after SIGTERM.
  const attempts = await jobs.attempts(id)
  assert.deepEqual(
    attempts.map(({ cause, exit_code }) => [cause, exit_code]),
    [
      ['killed', 143],
      ['cancelled', 143],
      ['finished', 0],
    ],
  )
  assert((attempts[2]?.from_step ?? 0) >= (attempts[1]?.from_step ?? NaN))
  assert.equal((await account.history(id)).at(-1)?.step, 80)
})
