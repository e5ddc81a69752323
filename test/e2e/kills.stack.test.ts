// kill -9 of a trainer in the middle of its run; a submit and a cancel while Temporal is down.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { pidOf } from '../support/processes.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Seconds = { allocated: number; productive: number; lost: number }
type Attempt = {
  attempt: number
  cause: string
  from_step: number
  first_step: number
  last_step: number
  last_checkpoint_step: number
  claimed_at: string
  ended_at: string
  training_seconds: Seconds
  gpu_seconds: Seconds
}

suite('kill -9', async () => {
  const api = await openAccount()

  test('resumes a killed trainer from the newest checkpoint and counts a resume', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: shortRun })
    await api.until(id, ({ history }) => history.includes('"step":30'))
    process.kill(pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer'), 'SIGKILL')
    const job = await api.untilStatus(id, 'COMPLETED')
    assert.equal(job.resume_count, 1)
    const { attempts } = await api.get<{ attempts: Attempt[] }>(`/v1/train/jobs/${id}/attempts`)
    assert.deepEqual(
      attempts.map(({ attempt, cause }) => [attempt, cause]),
      [
        [2, 'finished'],
        [1, 'killed'],
      ],
    )
    const [resumed, killed] = attempts as [Attempt, Attempt]
    assert.ok(resumed.from_step >= 10)
    assert.deepEqual([killed.first_step, killed.last_checkpoint_step], [1, resumed.from_step])
    assert.deepEqual(
      [resumed.first_step, resumed.last_step, resumed.last_checkpoint_step],
      [resumed.from_step + 1, 60, 60],
    )
    for (const { attempt, claimed_at, ended_at, training_seconds, gpu_seconds } of attempts) {
      const { allocated, productive, lost } = training_seconds
      const ranS = (Date.parse(`${ended_at}Z`) - Date.parse(`${claimed_at}Z`)) / 1000
      assert.ok(Math.abs(allocated - ranS) < 0.01 && productive > 0 && lost > 0, JSON.stringify(training_seconds))
      assert.ok(Math.abs(productive + lost - allocated) < 1e-6)
      assert.deepEqual(gpu_seconds, { allocated: 0, productive: 0, lost: 0 })
      console.log(`attempt ${attempt}: ${productive.toFixed(1)} of ${allocated.toFixed(1)} s were productive`)
    }
    const page = await api.request<{ attempts: Attempt[] }>('GET', `/v1/train/jobs/${id}/attempts?limit=1`)
    const next = /^<(.*)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1] ?? assert.fail('no next page')
    const { attempts: rest } = await api.get<{ attempts: Attempt[] }>(next)
    assert.deepEqual([...page.body.attempts, ...rest], attempts)
  })

  test('a submit and a cancel are accepted while Temporal is down, and happen once it is back', async () => {
    const temporal = processId(connection(), 'temporal')
    process.kill(temporal, 'SIGSTOP')
    const id = await api.train({ data: sampleRows, finetune_args: shortRun })
    assert.equal((await api.job(id)).status, 'CREATED')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    assert.equal((await api.job(id)).status_reason, 'cancelling')
    process.kill(temporal, 'SIGCONT')
    await api.untilStatus(id, 'CANCELLED')
  })
})
