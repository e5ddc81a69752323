// What a worker itself ends: a training whose slice is over while another waits, one that hangs, one that ran too long.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { begunEarlier } from '../support/database.ts'
import { pidOf } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

type Attempt = { attempt: number; cause: string | null; exit_code: number | null; from_step: number; last_step: number }

suite('limits on an attempt', async () => {
  const api = await openAccount()
  const attemptsOf = async (id: number) =>
    (await api.get<{ attempts: Attempt[] }>(`/v1/train/jobs/${id}/attempts`)).attempts.toReversed()
  const causesOf = async (id: number) => (await attemptsOf(id)).map(({ cause }) => cause)
  const cancel = async (id: number) => {
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.untilStatus(id, 'CANCELLED')
  }
  const train = (max_steps: number) => api.train({ data: sampleRows, finetune_args: { max_steps, save_steps: 10 } })
  const reported = (id: number, step: number) => api.until(id, ({ history }) => history.includes(`"step":${step}`))

  function hold(id: number) {
    const trainer = pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer')
    process.kill(trainer, 'SIGSTOP')
    return trainer
  }

  /** Held until the worker has looked at it, so that it does not finish before; then it hears the SIGTERM. */
  async function endsFor(id: number, cause: string, hours: number) {
    const trainer = hold(id)
    await begunEarlier(id, hours)
    await eventually(async () => (await causesOf(id))[0] === cause)
    process.kill(trainer, 'SIGCONT')
  }

  test('a time slice ends when another job waits: SIGTERM, checkpoint, back to the queue, and on from there', async () => {
    const first = await train(50)
    await reported(first, 10)
    hold(first)
    const second = await train(1000)
    await api.until(second, ({ status_reason }) => status_reason === 'waiting_for_slot')
    await endsFor(first, 'time_slice', 5)
    const queued = await api.until(first, ({ resume_count }) => resume_count === 1, { everyMs: 10 })
    assert.equal(queued.status, 'QUEUED')
    await api.untilStatus(second, 'LOADING DATA', 'TRAINING MODEL')
    await cancel(second)
    await api.untilStatus(first, 'COMPLETED')
    const [sliced, resumed] = await attemptsOf(first)
    assert.deepEqual([sliced?.cause, sliced?.exit_code, resumed?.cause], ['time_slice', 143, 'finished'])
    assert.ok((resumed?.from_step ?? 0) >= 10)
  })

  test('a training that hangs is ended as stalled and goes on', async () => {
    const id = await train(1000)
    await reported(id, 20)
    hold(id)
    await eventually(async () => (await causesOf(id))[1] === null)
    assert.deepEqual(await causesOf(id), ['stalled', null])
    await api.untilStatus(id, 'TRAINING MODEL')
    await cancel(id)
  })

  test('a job that has run too long is published from its newest checkpoint; its resume has time again', async () => {
    const id = await train(50)
    await reported(id, 20)
    await endsFor(id, 'deadline', 25)
    const job = await api.until(id, ({ status }) => status === 'PARTIALLY COMPLETED')
    assert.equal(job.status_reason, 'deadline')
    assert.match(job.model_name ?? '', /^[0-9a-f]{64}$/)
    await api.post(`/v1/train/jobs/${id}/resume`)
    await api.untilStatus(id, 'COMPLETED')
    assert.deepEqual(await causesOf(id), ['deadline', 'finished'])
  })
})
