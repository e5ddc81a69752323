// A cancel is a promise that nothing runs; a resume goes on from a checkpoint.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { livingInGroup, livingTrainers, pidOf } from '../support/processes.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { openAccount, runFolder } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

suite('cancel and resume', async () => {
  const api = await openAccount()
  const train = (more = {}) => api.train({ data: sampleRows, finetune_args: shortRun, ...more })

  test('a job cancelled in the queue never starts', async () => {
    const running = await train()
    await api.untilStatus(running, 'LOADING DATA', 'TRAINING MODEL')
    const waiting = await train()
    const queued = await api.until(waiting, ({ status_reason }) => status_reason === 'waiting_for_slot')
    assert.equal(queued.status, 'QUEUED')
    assert.match(queued.status_message ?? '', /slot/)
    assert.deepEqual(await api.post(`/v1/train/jobs/${waiting}/cancel`), {
      message: `cancelled ${waiting}`,
      status: 'CANCELLED',
    })
    await api.untilStatus(waiting, 'CANCELLED')
    assert.equal(pidOf(`ft-${waiting}-a1`), null)
    await api.post(`/v1/train/jobs/${running}/cancel`)
    await api.untilStatus(running, 'CANCELLED')
  })

  test('the process of a cancelled training is gone before CANCELLED can be read; the resume goes on from a checkpoint', async () => {
    const id = await train()
    await api.until(id, ({ history }) => history.includes('"step":20'))
    const pid = pidOf(`ft-${id}-a1`) ?? assert.fail('it has no pid')
    // Held until it is asked to end, so that it does not finish before.
    process.kill(pid, 'SIGSTOP')
    await api.post(`/v1/train/jobs/${id}/cancel`)
    const repeated = await api.post(`/v1/train/jobs/${id}/cancel`)
    assert.deepEqual(repeated, { message: `cancelled ${id}`, status: 'CANCELLED' })
    await eventually(() => existsSync(join(runFolder(`ft-${id}-a1`), 'terminated')))
    process.kill(pid, 'SIGCONT')
    await api.until(id, ({ status }) => status === 'CANCELLED', { everyMs: 5 })
    assert.deepEqual(livingInGroup(pid), [])
    const before = await api.history(id)
    assert.ok(before.length >= 2 && before.length < 6)

    const { status } = await api.post<{ status: string }>(`/v1/train/jobs/${id}/resume`)
    assert.equal(status, 'QUEUED')
    const done = await api.untilStatus(id, 'COMPLETED')
    const { attempts } = await api.get<{ attempts: { from_step: number; cause: string; message: string }[] }>(
      `/v1/train/jobs/${id}/attempts`,
    )
    assert.equal(done.resume_count, 1, attempts.map(({ cause, message }) => `${cause}: ${message}`).join('; '))
    assert.ok((attempts[0]?.from_step ?? 0) >= 20, 'it went on from a checkpoint')
    assert.deepEqual(
      attempts.map(({ cause }) => cause),
      ['finished', 'cancelled'],
    )
    assert.deepEqual(
      (await api.history(id)).map(({ step }) => step),
      [10, 20, 30, 40, 50, 60],
    )
  })

  test('refuses to resume a job that has not ended', async () => {
    const id = await train()
    await api.untilStatus(id, 'QUEUED', 'LOADING DATA', 'TRAINING MODEL')
    assert.equal((await api.request('POST', `/v1/train/jobs/${id}/resume`)).status, 409)
    await api.post(`/v1/train/jobs/${id}/cancel`)
    await api.untilStatus(id, 'CANCELLED')
    await eventually(() => livingTrainers(id).length === 0)
  })
})
